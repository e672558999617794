// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/node/xrc_host.h"

#include <bit>

#include "control/hub/registry.h"
#include "datapath/link/envelope.h"
#include "datapath/link/gid_table.h"

namespace verbline::cli {
/// What a member can make the node send by this is NAKs, to an address to which it can send anything itself.
Result<void> NodeXrcHost::start(const hub::XrcTarget& target) {
    const link::GidEntry source{.gid = target.source,
                                .type = target.roce_v1 ? link::GidType::roce_v1 : link::GidType::roce_v2,
                                .vlan = std::nullopt};
    const link::SourceAddress from{
        .carrier = link::carrier_of(source), .mac = mac_, .vlan = std::nullopt, .ecn = true, .gid = target.source};
    const auto port = link::udp_source_port(target.to.flow_label, target.qpn, target.peer);
    targets_.start(target.qpn, {.qpn = target.peer,
                                .first = target.first,
                                .mtu_shift = static_cast<std::uint8_t>(std::countr_zero(target.mtu)),
                                .envelope = link::make_envelope(from, target.to, target.mac, port)});
    return {};
}

void NodeXrcHost::join(wire::Qpn target, hub::LaneId member, bool ready) {
    targets_.join(target, member_of(member), ready);
}

void NodeXrcHost::leave(wire::Qpn target, hub::LaneId member) {
    targets_.leave(target, member_of(member));
}

}  // namespace verbline::cli
