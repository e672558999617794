// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/port_facts.h"

#include "datapath/wire/bytes.h"

namespace verbline::mad {

void apply(const wire::PortInfo& info, PortFacts& facts) {
    facts.lid = info.lid;
    facts.sm_lid = info.sm_lid;
    facts.sm_sl = info.sm_service_level;
    facts.lmc = info.lmc;
    if (info.gid_prefix != 0) facts.subnet_prefix = info.gid_prefix;
    facts.capabilities = info.capabilities;
    facts.state = info.state;
    facts.mtu = static_cast<std::uint16_t>(wire::mtu_bytes(info.neighbour_mtu));
}

void append_pkeys(std::span<const std::byte> block, PortFacts& facts) {
    for (std::size_t i = 0; i + 2 <= block.size(); i += 2) facts.pkeys.push_back(wire::PKey{wire::load16(block, i)});
}

std::vector<PortEvent> changes(const PortFacts& before, const PortFacts& now) {
    std::vector<PortEvent> events;
    if (before.state == wire::PortState::no_change) return events;  // first reading: no state depends on it yet
    if (before.active() && !now.active()) events.push_back(PortEvent::port_down);
    if (before.lid != now.lid) events.push_back(PortEvent::lid_change);
    if (before.gid() != now.gid()) events.push_back(PortEvent::gid_change);
    if (before.sm_lid != now.sm_lid || before.sm_sl != now.sm_sl) events.push_back(PortEvent::sm_change);
    if (before.pkeys != now.pkeys) events.push_back(PortEvent::pkey_change);
    if (!before.active() && now.active()) events.push_back(PortEvent::port_up);
    return events;
}

}  // namespace verbline::mad
