// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/group_slots.h"

#include <vector>

namespace verbline::forward {
namespace {

using Counts = std::vector<std::uint32_t>;

/// The member who has the least for its weight, of those that may have more (Webster's method of apportionment). With
/// it, and unlike with rounding, shares only grow when a member goes, and only shrink when one comes.
std::size_t next_in_turn(std::span<const std::uint32_t> weights, const Counts& have, const Counts& most) {
    std::size_t next = weights.size();
    const auto claim = [&](std::size_t claimant, std::size_t other) {
        return std::uint64_t{weights[claimant]} * (2 * have[other] + 1);
    };
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (have[i] < most[i] && (next == weights.size() || claim(i, next) > claim(next, i))) next = i;
    }
    return next;
}

Counts shares(std::span<const std::uint32_t> weights) {
    constexpr std::size_t slots = std::tuple_size_v<GroupSlots>;
    const Counts most(weights.size(), slots);
    Counts have(weights.size(), 1);
    for (auto given = weights.size(); given < slots; ++given) ++have[next_in_turn(weights, have, most)];
    return have;
}

}  // namespace

void share_slots(std::span<const std::uint32_t> weights, GroupSlots& slots) {
    const auto most = shares(weights);
    Counts have(weights.size());
    for (auto& member : slots) {
        if (member == no_member) continue;
        if (have[member] < most[member]) {
            ++have[member];
        } else {
            member = no_member;
        }
    }
    // By turns, so that a member's slots lie scattered.
    for (auto& member : slots) {
        if (member != no_member) continue;
        const auto next = next_in_turn(weights, have, most);
        member = static_cast<std::uint8_t>(next);
        ++have[next];
    }
}

}  // namespace verbline::forward
