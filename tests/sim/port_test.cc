// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/port.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tests/sim/network_pair.h"
#include "tests/support/counter.h"

namespace verbline::sim {
namespace {

using test::ByteVector;
using test::make_packet;

TEST(SimulatedPort, SerializesAtTheRateOfEachLink) {
    // 100 bytes take 80 ns at 10 Gb/s and 800 ns at 1 Gb/s; the switch stores and forwards.
    Pair pair({.rate_bps = 10'000'000'000, .delay = 1000}, {.rate_bps = 1'000'000'000, .delay = 1000});
    for (std::uint32_t i = 0; i < 3; ++i) pair.send(i);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 3u);
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(received[i].number(), i);
        EXPECT_EQ(received[i].at, 80 + 1000 + 800 * (i + 1) + 1000);
    }
}

TEST(SimulatedPort, ARateLosesNoFractionOfANanosecond) {
    // 64 bytes at 100 Gb/s: 5.12 ns.
    Serializer wire;
    Time last = 0;
    for (int i = 0; i < 100'000; ++i) last = wire.send(64, 100'000'000'000, 0);
    EXPECT_EQ(last, 512'000);
}

TEST(SimulatedPort, ABusyTransmitterMakesItsHostWait) {
    Pair pair({.rate_bps = 8'000'000'000, .transmit_limit = 1000});  // a byte a nanosecond
    const auto frame = numbered(mac(1), mac(0), 0, 500);
    EXPECT_TRUE(pair.send(frame));
    EXPECT_TRUE(pair.send(frame));
    EXPECT_FALSE(pair.send(frame));
    pair.network.advance(1);
    EXPECT_TRUE(pair.send(frame));
    EXPECT_EQ(pair.run().size(), 3u);
}

TEST(SimulatedPort, AFullQueueDrops) {
    Pair pair({}, {.rate_bps = 8'000'000'000, .queue_limit = 10'000});
    for (std::uint32_t i = 0; i < 15; ++i) pair.send(i, 1000);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 10u);
    EXPECT_EQ(received.back().number(), 9u) << "the last ones are dropped";
    EXPECT_EQ(pair.b.port_counters().queue_dropped_full.value(), 5u);
}

TEST(SimulatedPort, AReceiverThatDoesNotReadIsOverrun) {
    Pair pair({}, {.receive_ring = 4});
    for (std::uint32_t i = 0; i < 10; ++i) pair.send(i);
    pair.network.advance(1);
    EXPECT_EQ(pair.b.waiting(), 4u);
    EXPECT_EQ(pair.b.port_counters().rx_dropped_overrun.value(), 6u);
    std::vector<Received> received;
    pair.collect(pair.b, received);
    EXPECT_EQ(received.size(), 4u);
    pair.send(10);
    EXPECT_EQ(pair.run().size(), 1u) << "room again";
}

TEST(SimulatedPort, WhatTheSenderDoesToItsMemoryAfterwardsDoesNotShow) {
    Pair pair({.delay = 1000});
    const auto bytes = numbered(mac(1), mac(0), 3, 200);
    const auto payload = make_packet(wire::Bytes(bytes).subspan(50));
    auto* head = make_packet(wire::Bytes(bytes).first(50)).release();
    auto* const shared = rte_pktmbuf_clone(payload.get(), test::packet_pool());
    ASSERT_EQ(rte_pktmbuf_chain(head, shared), 0);
    ASSERT_EQ(pair.a.tx_burst(0, std::span(&head, 1)), 1);
    std::memset(rte_pktmbuf_mtod(payload.get(), void*), 0, payload->data_len);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].bytes, bytes);
    EXPECT_EQ(pair.a.port_counters().tx_copied.value(), 1u);
}

TEST(SimulatedPort, RefusesWhatNoCableCarries) {
    Pair pair({.max_frame = 1000}, {.max_frame = 500});
    pair.send(1, 1001);
    pair.send(2, 501);
    pair.send(3, 500);
    ASSERT_TRUE(pair.send(ByteVector(13)));
    auto* wanting = make_packet(numbered(mac(1), mac(0), 4)).release();
    wanting->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
    ASSERT_EQ(pair.a.tx_burst(0, std::span(&wanting, 1)), 1);
    EXPECT_EQ(pair.run().size(), 1u);
    EXPECT_EQ(test::counter(pair.a, "tx_dropped_oversize"), 1u);
    EXPECT_EQ(test::counter(pair.a, "tx_dropped_runt"), 1u);
    EXPECT_EQ(test::counter(pair.a, "tx_dropped_offload"), 1u);
    EXPECT_EQ(test::counter(pair.b, "queue_dropped_oversize"), 1u);
}

TEST(SimulatedPort, APortThatIsDownNeitherSendsNorReceives) {
    Pair pair;
    pair.send(1);
    pair.b.down();
    EXPECT_TRUE(pair.run().empty());
    pair.a.down();
    pair.send(2);
    EXPECT_EQ(pair.network.in_flight(), 0u);
    EXPECT_EQ(pair.b.port_counters().rx_dropped_down.value(), 1u);
    EXPECT_EQ(pair.a.port_counters().tx_dropped_down.value(), 1u);
}

}  // namespace
}  // namespace verbline::sim
