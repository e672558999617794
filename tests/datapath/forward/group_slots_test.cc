// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/group_slots.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::forward {
namespace {

using Weights = std::vector<std::uint32_t>;

GroupSlots nobodys() {
    GroupSlots slots;
    slots.fill(no_member);
    return slots;
}
GroupSlots shared(const Weights& weights, GroupSlots slots = nobodys()) {
    share_slots(weights, slots);
    return slots;
}
std::vector<std::size_t> counts(const GroupSlots& slots, std::size_t members) {
    std::vector<std::size_t> out(members);
    for (const auto member : slots) ++out.at(member);
    return out;
}

TEST(GroupSlots, AreSharedByWeight) {
    using Counts = std::vector<std::size_t>;
    EXPECT_EQ(counts(shared({1}), 1), (Counts{256}));
    EXPECT_EQ(counts(shared({1, 1}), 2), (Counts{128, 128}));
    EXPECT_EQ(counts(shared({7, 7, 7}), 3), (Counts{86, 85, 85}));
    EXPECT_EQ(counts(shared({3, 1}), 2), (Counts{192, 64}));
    EXPECT_EQ(counts(shared({1, 65'536}), 2), (Counts{1, 255})) << "one at least";
    EXPECT_EQ(counts(shared(Weights(64, 9)), 64), Counts(64, 4));
}

TEST(GroupSlots, OfAMemberLieScattered) {
    const auto slots = shared({1, 1, 1, 1});
    for (std::size_t i = 0; i < slots.size(); i += 16) {
        for (std::uint8_t member = 0; member < 4; ++member) {
            EXPECT_EQ(std::count(slots.begin() + static_cast<std::ptrdiff_t>(i),
                                 slots.begin() + static_cast<std::ptrdiff_t>(i) + 16, member),
                      4);
        }
    }
}

/// A member, the last of these weights, goes and comes again.
void expect_least_moves(const Weights& with) {
    const auto gone = static_cast<std::uint8_t>(with.size() - 1);
    const Weights without(with.begin(), with.end() - 1);
    const auto before = shared(with);
    auto left = before;
    std::ranges::replace(left, gone, no_member);
    const auto during = shared(without, left);
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != gone) {
            EXPECT_EQ(during[i], before[i]) << "only the flows of the one that is gone move";
        }
    }
    EXPECT_EQ(counts(during, without.size()), counts(shared(without), without.size())) << "as if it had never been";
    const auto after = shared(with, during);
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (after[i] != gone) {
            EXPECT_EQ(after[i], during[i]) << "only the flows move that it gets";
        }
    }
    EXPECT_EQ(counts(after, with.size()), counts(before, with.size()));
}

TEST(GroupSlots, ChangeTheirMemberOnlyIfTheyMust) {
    expect_least_moves({1, 1});
    expect_least_moves({1, 1, 1});
    expect_least_moves({10, 3, 200, 1});
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        Weights weights(2 + random() % 30);
        for (auto& weight : weights) weight = 1 + random() % (i % 2 == 0 ? 8 : 65'536);
        expect_least_moves(weights);
    }
}

TEST(GroupSlots, FollowAWeightThatChanges) {
    const auto before = shared({1, 1});
    const auto after = shared({3, 1}, before);
    EXPECT_EQ(counts(after, 2), (std::vector<std::size_t>{192, 64}));
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (before[i] == 0) {
            EXPECT_EQ(after[i], 0) << "the one that gets more keeps what it has";
        }
    }
}

}  // namespace
}  // namespace verbline::forward
