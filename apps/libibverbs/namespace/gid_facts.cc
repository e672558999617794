// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/gid_facts.h"

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

}  // namespace

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

}  // namespace verbline::verbs
