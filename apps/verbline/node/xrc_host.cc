// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/node/xrc_host.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "control/hub/registry.h"
#include "datapath/link/envelope.h"
#include "datapath/link/gid_table.h"

namespace verbline::cli {
namespace {

node::XrcTargets::Peer peer_of(const hub::XrcTarget& target) {
    return {.qpn = target.peer,
            .first = target.first,
            .mtu_shift = static_cast<std::uint8_t>(std::countr_zero(target.mtu))};
}

}  // namespace

bool NodeXrcHost::is_own(const wire::Gid& gid) const {
    return gid == link::link_local_gid(port_.mac) ||
           std::ranges::find(port_.addresses, gid, &link::InterfaceAddress::gid) != port_.addresses.end();
}

/// What a member can make the node send by this is NAKs from the port's address, to where it can send anything itself.
Result<void> NodeXrcHost::start(const hub::XrcTarget& target) {
    const auto peer = subnet_ ? peer_on_fabric(target) : peer_on_ethernet(target);
    if (!peer) return std::unexpected(peer.error());
    targets_.start(target.qpn, *peer);
    return {};
}

Result<node::XrcTargets::Peer> NodeXrcHost::peer_on_ethernet(const hub::XrcTarget& target) const {
    if (!is_own(target.source)) return failure(EINVAL, "an XRC target's source address is none of the node's port");
    const link::GidEntry source{.gid = target.source,
                                .type = target.roce_v1 ? link::GidType::roce_v1 : link::GidType::roce_v2,
                                .vlan = std::nullopt};
    const link::SourceAddress from{
        .carrier = link::carrier_of(source), .mac = port_.mac, .vlan = std::nullopt, .ecn = true, .gid = target.source};
    const auto port = link::udp_source_port(target.to.flow_label, target.qpn, target.peer);
    auto peer = peer_of(target);
    peer.envelope = link::make_envelope(from, target.to, target.mac, port);
    peer.port = is_own(target.to.dgid) ? link::member_of(target.peer) : link::node_itself;
    return peer;
}

Result<node::XrcTargets::Peer> NodeXrcHost::peer_on_fabric(const hub::XrcTarget& target) const {
    const auto port = subnet_();
    if (target.source != port.gid()) return failure(EINVAL, "an XRC target's source GID is none of the node's port");
    if (target.pkey_index >= port.pkeys.size()) return failure(EINVAL, "an XRC target's P_Key index has no entry");
    const link::SourceAddress from{
        .carrier = link::Carrier::soft_ib, .vlan = std::nullopt, .gid = target.source, .lid = port.lid};
    auto peer = peer_of(target);
    peer.pkey = port.pkeys[target.pkey_index];
    peer.envelope = link::make_envelope(from, target.to, {}, 0);
    peer.port = target.to.dlid == port.lid ? link::member_of(target.peer) : link::node_itself;
    return peer;
}

void NodeXrcHost::join(wire::Qpn target, hub::LaneId member, bool ready) {
    targets_.join(target, member_of(member), ready);
}

void NodeXrcHost::leave(wire::Qpn target, hub::LaneId member) {
    targets_.leave(target, member_of(member));
}

}  // namespace verbline::cli
