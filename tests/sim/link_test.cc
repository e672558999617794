// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/link.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/network_pair.h"
#include "tests/support/counter.h"

namespace verbline::sim {
namespace {

TEST(Link, LosesTheFractionAskedFor) {
    std::uint64_t lost = 0, sent = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Pair pair({.out = {.random = {.loss = 0.05}}}, {.in = {.random = {.loss = 0.02}}}, seed);
        for (std::uint32_t i = 0; i < 1000; ++i) pair.send(i, 60);
        EXPECT_EQ(pair.run().size() + test::counter(pair.a, "tx_link_lost") + test::counter(pair.b, "rx_link_lost"),
                  1000u);
        sent += 1000;
        lost += pair.a.out_counters().lost.value();
    }
    EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(sent), 0.05, 0.005);
}

TEST(Link, DuplicatesAreTwoPackets) {
    Pair pair({.out = {.random = {.duplicate = 1}}});
    pair.send(9);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0], received[1]);
    EXPECT_EQ(pair.a.out_counters().duplicated.value(), 1u);
}

TEST(Link, AReorderedPacketIsOvertaken) {
    Pair pair({.out = {.random = {.reorder = 1}, .reorder_hold = 50}});
    pair.send(1);
    pair.a.setup().out.random.reorder = 0;
    pair.network.advance(10);
    pair.send(2);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0].number(), 2u);
    EXPECT_EQ(received[0].at, 10);
    EXPECT_EQ(received[1].at, 50);
}

TEST(Link, CorruptionFlipsOneBitInTheRange) {
    Pair pair({.out = {.random = {.corrupt = 1}, .corrupt_range = {20, 24}}});
    std::vector<bool> hit(100);
    for (int i = 0; i < 300; ++i) {
        const auto sent = numbered(mac(1), mac(0), 77);
        pair.send(sent);
        const auto received = pair.run();
        ASSERT_EQ(received.size(), 1u);
        int bits = 0;
        for (std::size_t at = 0; at < sent.size(); ++at) {
            const auto changed = std::popcount(static_cast<unsigned>(sent[at] ^ received[0].bytes[at]));
            if (changed != 0) hit[at] = true;
            bits += changed;
        }
        EXPECT_EQ(bits, 1);
    }
    EXPECT_EQ(std::ranges::count(hit, true), 4);
    EXPECT_TRUE(hit[20] && hit[23]);
}

TEST(Link, NothingPassesInABlackout) {
    Pair pair({.out = {.blackouts = {{100, 200}, {300, 301}}}});
    for (const Time at : {99, 100, 199, 200, 300, 301}) {
        pair.network.advance(at);
        pair.send(static_cast<std::uint32_t>(at));
    }
    std::vector<std::uint32_t> numbers;
    for (const auto& packet : pair.run()) numbers.push_back(packet.number());
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{99, 200, 301}));
    EXPECT_EQ(pair.a.out_counters().dropped_blackout.value(), 3u);
}

TEST(Link, AScriptDropsWhatItLikes) {
    Pair pair;
    pair.b.setup().in.drop_if = [n = 0](const rte_mbuf&) mutable { return ++n == 2; };
    for (std::uint32_t i = 0; i < 3; ++i) pair.send(i);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[1].number(), 2u);
    EXPECT_EQ(pair.b.in_counters().dropped_script.value(), 1u);
}

}  // namespace
}  // namespace verbline::sim
