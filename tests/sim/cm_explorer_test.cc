// SPDX-License-Identifier: BSD-3-Clause
// Every state that the two ends of a connection can get into, with users who call what they like at any moment and a
// network that loses, doubles and reorders: breadth first, over the objects themselves. From each of them a network and
// users that behave must bring both to rest, both established or neither: no state is stuck.
#include <cstdio>
#include <deque>
#include <unordered_set>

#include <gtest/gtest.h>

#include "tests/sim/cm_pair.h"

namespace verbline::sim {
namespace {

void explore(const CmPairSetup& setup, const char* what) {
    CmPair::Mads mads;
    std::unordered_set<std::uint64_t> seen;
    std::deque<CmPair> frontier;
    frontier.emplace_back(setup, mads);
    seen.insert(frontier.front().key());
    constexpr std::size_t most = MOST_STATES;
    for (; !frontier.empty() && seen.size() < most; frontier.pop_front()) {
        const auto& state = frontier.front();
        ASSERT_EQ(state.fault(), "") << state.describe();
        auto settled = state;
        ASSERT_TRUE(settled.settle()) << settled.fault() << "; from " << state.describe() << ", now "
                                      << settled.describe();
        for (auto& next : state.successors()) {
            if (seen.insert(next.key()).second) frontier.push_back(std::move(next));
        }
    }
    std::printf("    %zu states of %s%s, none stuck\n", seen.size(), what, frontier.empty() ? "" : " (and more)");
}

TEST(CmExplorer, NoStateOfAConnectionIsStuck) {
    explore({.retries = 2}, "a connection");
}
TEST(CmExplorer, NoStateWithDelaysIsStuck) {
    explore({.delays = true}, "a connection whose users need longer");
}
TEST(CmExplorer, NoStateWithAnotherPathIsStuck) {
    explore({.paths = true, .delays = true, .births = 1}, "a connection that gets another path");
}
TEST(CmExplorer, NoStateOfPeersIsStuck) {
    explore({.peers = true, .delays = true, .retries = 2}, "peers that ask each other");
}

}  // namespace
}  // namespace verbline::sim
