// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/ring.h"

#include <array>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/packet.h"

namespace verbline::pmd::memif {
namespace {

using test::make_packet;
using test::Packet;
using test::packet_pool;

constexpr unsigned log2_size = 4, slots = 1 << log2_size;
constexpr std::uint32_t slot_bytes = 512;

/// Both ends of one ring over private memory, which the test may scribble on as a peer could.
struct Pair {
    explicit Pair(Direction way) : direction(way) {
        regions.push_back(memory);
        ring = {memory.data(), log2_size};
        for (unsigned i = 0; i < slots; ++i) {
            const Descriptor descriptor{0, 0, slot_bytes,
                                        static_cast<std::uint32_t>(ring_bytes(log2_size) + i * slot_bytes), 0};
            write(i, descriptor);
        }
        producer.emplace(ring, regions, direction, slot_bytes, -1);
        consumer.emplace(ring, regions, direction, slot_bytes, packet_pool());
        consumer->open();
    }
    void write(unsigned slot, const Descriptor& descriptor) {
        std::memcpy(memory.data() + sizeof(RingHeader) + slot * sizeof(Descriptor), &descriptor, sizeof(descriptor));
    }
    Descriptor read(unsigned slot) const { return ring.descriptor(static_cast<std::uint16_t>(slot)); }

    bool send(Packet packet) {
        auto* raw = packet.get();
        const bool sent = producer->send(std::span(&raw, 1), {sent_packets, sent_bytes, oversize}) == 1;
        if (sent) (void)packet.release();
        return sent;
    }
    Packet receive() {
        rte_mbuf* packet = nullptr;
        return Packet(consumer->receive(std::span(&packet, 1), {packets, bytes, no_mbuf, malformed}) == 1 ? packet
                                                                                                          : nullptr);
    }

    Direction direction;
    alignas(64) std::array<std::byte, ring_bytes(log2_size) + slots * slot_bytes> memory{};
    Regions regions;
    RingMemory ring;
    std::optional<Producer> producer;
    std::optional<Consumer> consumer;
    Counter sent_packets, sent_bytes, oversize, packets, bytes, no_mbuf, malformed;
};

struct RingTest : ::testing::TestWithParam<Direction> {
    Pair pair{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(BothWays, RingTest,
                         ::testing::Values(Direction::client_to_server, Direction::server_to_client));

TEST_P(RingTest, FramesArriveWholeInOrderAcrossManyWraps) {
    std::mt19937 random(1);
    unsigned sent = 0, received = 0;
    std::vector<std::size_t> sizes;
    while (received < 100'000) {
        while (random() % 8 != 0) {
            const std::size_t size = 1 + random() % (random() % 10 == 0 ? 4000 : 512);
            if (!pair.send(make_packet(test::pattern(size, sent), random() % 4 == 0 ? 100 : 2304))) break;
            sizes.push_back(size);
            ++sent;
        }
        while (auto packet = pair.receive()) {
            ASSERT_EQ(packet->pkt_len, sizes[received]);
            ASSERT_TRUE(received % 16 != 0 || test::bytes_of(packet) == test::pattern(sizes[received], received));
            ASSERT_EQ(rte_mbuf_check(packet.get(), 1, nullptr), 0);
            ++received;
            if (random() % 4 == 0) break;
        }
        ASSERT_FALSE(pair.producer->broken() || pair.consumer->broken());
    }
    EXPECT_GT(pair.sent_packets.value(), 100'000u - 1);
    EXPECT_EQ(pair.packets.value(), received);
}

TEST_P(RingTest, AFullRingTakesNoMoreAndLosesNothing) {
    for (unsigned i = 0; i < slots; ++i) ASSERT_TRUE(pair.send(make_packet(test::pattern(100, i)))) << i;
    EXPECT_FALSE(pair.send(make_packet(test::pattern(100))));
    EXPECT_TRUE(pair.receive());
    EXPECT_TRUE(pair.send(make_packet(test::pattern(100, slots))));
    for (unsigned i = 1; i <= slots; ++i) EXPECT_EQ(test::bytes_of(pair.receive()), test::pattern(100, i));
    EXPECT_FALSE(pair.receive());
}

TEST_P(RingTest, ABurstTakesWhatFits) {
    std::array<rte_mbuf*, 20> burst;
    for (auto& packet : burst) packet = make_packet(test::pattern(1000)).release();  // two slots each
    const auto sent = pair.producer->send(burst, {pair.sent_packets, pair.sent_bytes, pair.oversize});
    EXPECT_EQ(sent, slots / 2);
    EXPECT_EQ(pair.sent_bytes.value(), slots / 2 * 1000);
    for (auto* packet : std::span(burst).subspan(sent)) rte_pktmbuf_free(packet);
    std::array<rte_mbuf*, 20> got;
    const auto received = pair.consumer->receive(got, {pair.packets, pair.bytes, pair.no_mbuf, pair.malformed});
    EXPECT_EQ(received, slots / 2);
    for (auto* packet : std::span(got).first(received)) rte_pktmbuf_free(packet);
}

TEST_P(RingTest, AFrameLargerThanTheRingIsDroppedAndCounted) {
    EXPECT_TRUE(pair.send(make_packet(test::pattern(slots * slot_bytes + 1)))) << "taken, not kept";
    EXPECT_EQ(pair.oversize.value(), 1u);
    EXPECT_EQ(pair.sent_packets.value(), 0u);
    EXPECT_FALSE(pair.receive());
    EXPECT_TRUE(pair.send(make_packet(test::pattern(slots * slot_bytes))));
    EXPECT_EQ(pair.receive()->pkt_len, slots * slot_bytes);
}

TEST_P(RingTest, AnEmptyPoolPutsTheReceiveOff) {
    ASSERT_TRUE(pair.send(make_packet(test::pattern(100))));
    std::vector<Packet> all;
    while (auto* packet = rte_pktmbuf_alloc(packet_pool())) all.emplace_back(packet);
    EXPECT_FALSE(pair.receive());
    EXPECT_EQ(pair.no_mbuf.value(), 1u);
    all.clear();
    EXPECT_TRUE(pair.receive());
}

TEST_P(RingTest, ReceivesPartialBurstWhenPoolRunsOut) {
    for (unsigned i = 0; i < 5; ++i) ASSERT_TRUE(pair.send(make_packet(test::pattern(100, i))));
    std::vector<Packet> all;
    while (auto* packet = rte_pktmbuf_alloc(packet_pool())) all.emplace_back(packet);
    all.resize(all.size() - 3);
    std::array<rte_mbuf*, 5> burst{};
    EXPECT_EQ(pair.consumer->receive(burst, {pair.packets, pair.bytes, pair.no_mbuf, pair.malformed}), 3);
    EXPECT_EQ(pair.no_mbuf.value(), 1u);
    all.clear();
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(test::bytes_of(Packet(burst[i])), test::pattern(100, i));
    for (unsigned i = 3; i < 5; ++i) EXPECT_EQ(test::bytes_of(pair.receive()), test::pattern(100, i));
}

TEST_P(RingTest, AnEmptyFrameIsCountedAndSkipped) {
    ASSERT_TRUE(pair.send(make_packet(test::pattern(9))));
    ASSERT_TRUE(pair.send(make_packet(test::pattern(10))));
    auto descriptor = pair.read(0);
    descriptor.length = 0;
    pair.write(0, descriptor);
    EXPECT_FALSE(pair.receive());
    EXPECT_EQ(pair.malformed.value(), 1u);
    EXPECT_EQ(pair.receive()->pkt_len, 10u);
}

// What a peer must not be able to do to us.

TEST_P(RingTest, ABufferOutsideTheRegionBreaksTheRing) {
    for (const auto& wrong : {Descriptor{0, 1, 10, 0, 0}, Descriptor{0, 0xffff, 10, 0, 0},
                              Descriptor{0, 0, 11, static_cast<std::uint32_t>(sizeof(Pair::memory) - 10), 0},
                              Descriptor{0, 0, 10, 0xffffffff, 0}, Descriptor{0, 0, 0xffffffff, 0xffffffff, 0}}) {
        Pair fresh(GetParam());
        ASSERT_TRUE(fresh.send(make_packet(test::pattern(10))));
        fresh.write(0, wrong);
        EXPECT_FALSE(fresh.receive());
        EXPECT_TRUE(fresh.consumer->broken());
        fresh.write(1, wrong);
        EXPECT_FALSE(fresh.send(make_packet(test::pattern(10))) && wrong.length != 11)
            << "(the length of a client's own slots is not the peer's to say)";
    }
}

TEST_P(RingTest, ImpossibleIndicesBreakTheRing) {
    auto& header = pair.ring.header();
    const bool client = GetParam() == Direction::client_to_server;
    auto& theirs_for_consumer = client ? header.head : header.tail;
    theirs_for_consumer = slots + 1;
    EXPECT_FALSE(pair.receive());
    EXPECT_TRUE(pair.consumer->broken());
    auto& theirs_for_producer = client ? header.tail : header.head;
    theirs_for_producer = client ? 1 : slots + 1;
    EXPECT_FALSE(pair.send(make_packet(test::pattern(10))));
    EXPECT_TRUE(pair.producer->broken());
}

TEST_P(RingTest, AChainWithoutEndBreaksTheRing) {
    for (unsigned i = 0; i < slots; ++i) ASSERT_TRUE(pair.send(make_packet(test::pattern(10))));
    for (unsigned i = 0; i < slots; ++i) {
        auto descriptor = pair.read(i);
        descriptor.flags = Descriptor::more;
        pair.write(i, descriptor);
    }
    EXPECT_FALSE(pair.receive());
    EXPECT_TRUE(pair.consumer->broken());
}

TEST_P(RingTest, ScribblingPeersDoNoHarm) {
    std::mt19937 random(7);
    for (unsigned round = 0; round < 3000; ++round) {
        Pair fresh(GetParam());
        for (unsigned step = 0; step < 20; ++step) {
            const auto at = random() % (ring_bytes(log2_size) / 2);
            const auto value = static_cast<std::uint16_t>(random() % 3 == 0 ? random() : random() % 40);
            std::memcpy(fresh.memory.data() + 2 * at, &value, sizeof(value));
            fresh.send(make_packet(test::pattern(random() % 1200 + 1)));
            fresh.receive();
        }
    }
}

}  // namespace
}  // namespace verbline::pmd::memif
