// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/sysfs_facts.h"

#include <array>

#include <net/if.h>

namespace verbline::verbs {
namespace {

GidFacts facts_of(const link::GidEntry& entry) {
    GidFacts facts{.gid = entry.gid,
                   .type = entry.type == link::GidType::roce_v2 ? GidType::roce_v2 : GidType::infiniband_or_roce_v1,
                   .interface = {}};
    std::array<char, IF_NAMESIZE> name{};
    if (entry.type != link::GidType::ib && if_indextoname(entry.ifindex, name.data()) != nullptr) {
        facts.interface = name.data();
    }
    return facts;
}

/// Up to the last entry; holes before it are zero, as the kernel shows them.
std::vector<GidFacts> gids_of(const link::GidTable& table) {
    std::vector<GidFacts> gids;
    for (std::size_t index = 0; index < table.capacity(); ++index) {
        const auto entry = table.at(index);
        if (!entry) continue;
        gids.resize(index);
        gids.push_back(facts_of(*entry));
    }
    return gids;
}

}  // namespace

DeviceFacts sysfs_facts(const VerbsPort& port) {
    const auto& link = port.link();
    DeviceFacts facts{.name = port.name(),
                      .index = port.index(),
                      .node_guid = port.guid(),
                      .infiniband = port.infiniband(),
                      .active = port.active(),
                      .lid = link.fabric.lid,
                      .sm_lid = link.fabric.sm_lid,
                      .gigabits = usual_gigabits,
                      .lanes = usual_lanes,
                      .gids = gids_of(port.gids()),
                      .interface = link.interface,
                      .firmware = VERBLINE_VERSION,
                      .board = std::string(board_name),
                      .counters = {},
                      .hw_counters = {}};
    if (!link.fabric.pkeys.empty()) facts.pkeys = link.fabric.pkeys;
    return facts;
}

}  // namespace verbline::verbs
