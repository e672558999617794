// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/node/xrc_host.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "control/hub/registry.h"
#include "datapath/link/envelope.h"
#include "datapath/link/gid_table.h"

namespace verbline::cli {
bool NodeXrcHost::is_own(const wire::Gid& gid) const {
    return gid == link::link_local_gid(port_.mac) ||
           std::ranges::find(port_.addresses, gid, &link::InterfaceAddress::gid) != port_.addresses.end();
}

/// What a member can make the node send by this is NAKs from the port's address, to where it can send anything itself.
Result<void> NodeXrcHost::start(const hub::XrcTarget& target) {
    if (!is_own(target.source)) return failure(EINVAL, "an XRC target's source address is none of the node's port");
    const link::GidEntry source{.gid = target.source,
                                .type = target.roce_v1 ? link::GidType::roce_v1 : link::GidType::roce_v2,
                                .vlan = std::nullopt};
    const link::SourceAddress from{
        .carrier = link::carrier_of(source), .mac = port_.mac, .vlan = std::nullopt, .ecn = true, .gid = target.source};
    const auto port = link::udp_source_port(target.to.flow_label, target.qpn, target.peer);
    targets_.start(target.qpn, {.qpn = target.peer,
                                .first = target.first,
                                .mtu_shift = static_cast<std::uint8_t>(std::countr_zero(target.mtu)),
                                .envelope = link::make_envelope(from, target.to, target.mac, port),
                                .port = is_own(target.to.dgid) ? link::member_of(target.peer) : link::node_itself});
    return {};
}

void NodeXrcHost::join(wire::Qpn target, hub::LaneId member, bool ready) {
    targets_.join(target, member_of(member), ready);
}

void NodeXrcHost::leave(wire::Qpn target, hub::LaneId member) {
    targets_.leave(target, member_of(member));
}

}  // namespace verbline::cli
