// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/sysfs_facts.h"

#include <utility>

#include "apps/libibverbs/namespace/gid_facts.h"

namespace verbline::verbs {

DeviceFacts sysfs_facts(const VerbsPort& port) {
    const auto& link = port.link();
    DeviceFacts facts{.name = port.name(),
                      .index = port.index(),
                      .node_guid = port.guid(),
                      .infiniband = port.infiniband(),
                      .active = port.active(),
                      .lid = link.fabric.lid,
                      .sm_lid = link.fabric.sm_lid,
                      .lmc = link.fabric.lmc,
                      .sm_sl = link.fabric.sm_sl,
                      .capabilities = port.infiniband() ? link.fabric.capabilities : ethernet_capabilities,
                      .gigabits = usual_gigabits,
                      .lanes = usual_lanes,
                      .gids = gids_of(port.gids()),
                      .interface = link.interface,
                      .firmware = VERBLINE_VERSION,
                      .board = std::string(board_name),
                      .counters = {},
                      .hw_counters = {}};
    if (!link.fabric.pkeys.empty()) facts.pkeys = link.fabric.pkeys;
    auto counters = port.counters();
    facts.counters = std::move(counters.counters);
    facts.hw_counters = std::move(counters.hw_counters);
    return facts;
}

}  // namespace verbline::verbs
