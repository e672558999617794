// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/sysfs_facts.h"

#include <utility>

#include "apps/libibverbs/namespace/gid_facts.h"

namespace verbline::verbs {

DeviceFacts sysfs_facts(const VerbsPort& port) {
    const auto& link = port.link();
    const auto fabric = port.fabric();
    DeviceFacts facts{.name = port.name(),
                      .index = port.index(),
                      .node_guid = port.guid(),
                      .infiniband = port.infiniband(),
                      .active = port.active(),
                      .lid = fabric.lid,
                      .sm_lid = fabric.sm_lid,
                      .lmc = fabric.lmc,
                      .sm_sl = fabric.sm_sl,
                      .capabilities = port.infiniband() ? fabric.capabilities : ethernet_capabilities,
                      .gigabits = usual_gigabits,
                      .lanes = usual_lanes,
                      .gids = gids_of(port.gids()),
                      .interface = link.interface,
                      .firmware = VERBLINE_VERSION,
                      .board = std::string(board_name),
                      .counters = {},
                      .hw_counters = {}};
    facts.pkeys = fabric.pkeys;
    auto counters = port.counters();
    facts.counters = std::move(counters.counters);
    facts.hw_counters = std::move(counters.hw_counters);
    return facts;
}

}  // namespace verbline::verbs
