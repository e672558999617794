// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/network.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/sim/network_pair.h"

namespace verbline::sim {
namespace {

using test::bytes_of;
using test::make_packet;

TEST(Network, DeliversWhatWasSentAfterExactlyTheDelays) {
    Pair pair({.delay = 700}, {.delay = 41});
    pair.network.advance(1000);
    pair.send(5);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].at, 1741);
    EXPECT_EQ(received[0].bytes, numbered(mac(1), mac(0), 5));
}

TEST(Network, KeepsTheOrderOfEachLink) {
    Pair pair({.rate_bps = 40'000'000'000, .transmit_limit = 1 << 20}, {.rate_bps = 40'000'000'000});
    for (std::uint32_t i = 0; i < 500; ++i) pair.send(i, 60 + i * 37 % 1400);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 500u);
    for (std::uint32_t i = 0; i < 500; ++i) ASSERT_EQ(received[i].number(), i);
}

TEST(Network, TheSameSeedGivesTheSameBitsAtTheSameTimes) {
    const auto history = [](std::uint64_t seed) {
        const pmd::Impairments all{
            .loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.05, .delay = 100, .jitter = 5000};
        Pair pair({.rate_bps = 1'000'000'000, .transmit_limit = 1 << 20, .out = {.random = all}},
                  {.rate_bps = 1'000'000'000, .marking = {500, 5000, 0.5}, .in = {.random = all}}, seed);
        for (std::uint32_t i = 0; i < 300; ++i) pair.send(i);
        return pair.run();
    };
    EXPECT_EQ(history(3), history(3));
    EXPECT_NE(history(3), history(4));
}

TEST(Network, FloodsWhatItDoesNotKnowAndLearns) {
    Network network(Seed{1}, *test::packet_pool());
    SimulatedPort* ports[] = {&network.add_port({}), &network.add_port({}), &network.add_port({})};
    const auto reached = [&](unsigned from, wire::MacAddress to) {
        auto* packet = make_packet(numbered(to, mac(from), 1)).release();
        EXPECT_EQ(ports[from]->tx_burst(0, std::span(&packet, 1)), 1);
        network.advance(network.now());
        std::string names;
        for (unsigned i = 0; i < 3; ++i) {
            while (ports[i]->rx_burst(0, std::span(&packet, 1)) != 0) {
                names += static_cast<char>('0' + i);
                rte_pktmbuf_free(packet);
            }
        }
        return names;
    };
    EXPECT_EQ(reached(0, mac(1)), "12") << "not known yet";
    EXPECT_EQ(reached(1, mac(0)), "0") << "learned";
    EXPECT_EQ(reached(0, mac(1)), "1");
    EXPECT_EQ(reached(2, wire::broadcast_mac), "01");
    EXPECT_EQ(reached(0, {{std::byte{3}}}), "12") << "multicast";
    EXPECT_EQ(reached(0, mac(0)), "") << "to itself";
    EXPECT_EQ(network.counters().dropped_same_port.value(), 1u);
    ports[2]->set_identity({.mac = mac(7)});
    EXPECT_EQ(reached(0, mac(7)), "2") << "told";
}

TEST(Network, JumboFramesArriveContiguousInBuffersThatHoldThem) {
    auto* const pool = rte_pktmbuf_pool_create("jumbo", 255, 0, 0, RTE_PKTMBUF_HEADROOM + 4352, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    {
        Network network(Seed{1}, *pool);
        auto& a = network.add_port({});
        auto& b = network.add_port({});
        const auto bytes = numbered(mac(1), mac(0), 3, 4200);
        auto* packet = make_packet(bytes).release();
        ASSERT_GT(packet->nb_segs, 1);
        ASSERT_EQ(a.tx_burst(0, std::span(&packet, 1)), 1);
        network.advance(0);
        ASSERT_EQ(b.rx_burst(0, std::span(&packet, 1)), 1);
        EXPECT_EQ(packet->nb_segs, 1);
        EXPECT_EQ(bytes_of(packet), bytes);
        rte_pktmbuf_free(packet);
    }
    EXPECT_EQ(rte_mempool_in_use_count(pool), 0u);
    rte_mempool_free(pool);
}

TEST(Network, FreesWhatIsUnderWay) {  // the pool is counted after the last test
    Pair pair({.delay = second});
    pair.send(1);
    pair.send(numbered(mac(0), mac(0), 2));
    pair.network.advance(1);
    EXPECT_EQ(pair.network.in_flight(), 2u);
}

}  // namespace
}  // namespace verbline::sim
