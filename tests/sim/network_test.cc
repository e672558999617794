// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/network.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "tests/support/counter.h"
#include "tests/support/packet.h"

namespace verbline::sim {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::make_packet;

constexpr wire::MacAddress mac(unsigned host) {
    return {{std::byte{2}, {}, {}, {}, std::byte(host >> 8), std::byte(host)}};
}

/// A frame with a number in it, where neither addresses nor type are.
ByteVector numbered(wire::MacAddress to, wire::MacAddress from, std::uint32_t number, std::size_t size = 100) {
    auto bytes = test::pattern(size, number);
    wire::Ethernet{to, from, wire::EtherType{0x88b6}}.emit(std::span(bytes).first<wire::Ethernet::size>());
    wire::store32(bytes, wire::Ethernet::size, number);
    return bytes;
}

/// A frame that holds an IPv4 header and 1000 bytes.
ByteVector ip_frame(wire::MacAddress to, wire::MacAddress from, wire::Ecn ecn) {
    auto bytes = test::pattern(14 + 1020);
    wire::Ethernet{to, from, wire::ether_type::ipv4}.emit(std::span(bytes).first<wire::Ethernet::size>());
    const wire::Ipv4 ip{.dscp = 26, .ecn = ecn, .total_length = 1020, .protocol = wire::IpProtocol::udp};
    ip.with_checksum().emit(std::span(bytes).subspan<14, wire::Ipv4::size>());
    return bytes;
}

struct Received {
    Time at;
    ByteVector bytes;
    std::uint32_t number() const { return wire::load32(bytes, wire::Ethernet::size); }
    bool operator==(const Received&) const = default;
};

/// Host 0 and host 1, known to the switch.
struct Pair {
    explicit Pair(PortSetup a_setup = {}, PortSetup b_setup = {}, std::uint64_t seed = 1)
        : network(Seed{seed}, *test::packet_pool()), a(add(std::move(a_setup), 0)), b(add(std::move(b_setup), 1)) {}

    Port& add(PortSetup setup, unsigned host) {
        setup.mac = mac(host);
        return network.add_port(std::move(setup));
    }
    bool send(const ByteVector& bytes) {
        auto* packet = make_packet(bytes).release();
        if (a.tx_burst(0, std::span(&packet, 1)) == 1) return true;
        rte_pktmbuf_free(packet);
        return false;
    }
    void send(std::uint32_t number, std::size_t size = 100) {
        ASSERT_TRUE(send(numbered(mac(1), mac(0), number, size)));
    }
    void collect(Port& port, std::vector<Received>& into) {
        rte_mbuf* packets[8];
        while (const auto n = port.rx_burst(0, packets)) {
            for (auto* const packet : std::span(packets).first(n)) {
                into.push_back({network.now(), bytes_of(packet)});
                rte_pktmbuf_free(packet);
            }
        }
    }
    /// Everything that B gets until nothing is under way.
    std::vector<Received> run() {
        std::vector<Received> received;
        while (const auto next = network.next_event()) {
            network.advance(*next);
            collect(b, received);
        }
        return received;
    }

    Network network;
    Port &a, &b;
};

TEST(Network, DeliversWhatWasSentAfterExactlyTheDelays) {
    Pair pair({.delay = 700}, {.delay = 41});
    pair.network.advance(1000);
    pair.send(5);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].at, 1741);
    EXPECT_EQ(received[0].bytes, numbered(mac(1), mac(0), 5));
}

TEST(Network, SerializesAtTheRateOfEachLink) {
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

TEST(Network, ARateLosesNoFractionOfANanosecond) {
    // 64 bytes at 100 Gb/s: 5.12 ns.
    Serializer wire;
    Time last = 0;
    for (int i = 0; i < 100'000; ++i) last = wire.send(64, 100'000'000'000, 0);
    EXPECT_EQ(last, 512'000);
}

TEST(Network, KeepsTheOrderOfEachLink) {
    Pair pair({.rate_bps = 40'000'000'000, .transmit_limit = 1 << 20}, {.rate_bps = 40'000'000'000});
    for (std::uint32_t i = 0; i < 500; ++i) pair.send(i, 60 + i * 37 % 1400);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 500u);
    for (std::uint32_t i = 0; i < 500; ++i) ASSERT_EQ(received[i].number(), i);
}

TEST(Network, ABusyTransmitterMakesItsHostWait) {
    Pair pair({.rate_bps = 8'000'000'000, .transmit_limit = 1000});  // a byte a nanosecond
    const auto frame = numbered(mac(1), mac(0), 0, 500);
    EXPECT_TRUE(pair.send(frame));
    EXPECT_TRUE(pair.send(frame));
    EXPECT_FALSE(pair.send(frame));
    pair.network.advance(1);
    EXPECT_TRUE(pair.send(frame));
    EXPECT_EQ(pair.run().size(), 3u);
}

TEST(Network, AFullQueueDrops) {
    Pair pair({}, {.rate_bps = 8'000'000'000, .queue_limit = 10'000});
    for (std::uint32_t i = 0; i < 15; ++i) pair.send(i, 1000);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 10u);
    EXPECT_EQ(received.back().number(), 9u) << "the last ones are dropped";
    EXPECT_EQ(pair.b.port_counters().queue_dropped_full.value(), 5u);
}

TEST(Network, LosesTheFractionAskedFor) {
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

TEST(Network, DuplicatesAreTwoPackets) {
    Pair pair({.out = {.random = {.duplicate = 1}}});
    pair.send(9);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0], received[1]);
    EXPECT_EQ(pair.a.out_counters().duplicated.value(), 1u);
}

TEST(Network, AReorderedPacketIsOvertaken) {
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

TEST(Network, CorruptionFlipsOneBitInTheRange) {
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

TEST(Network, NothingPassesInABlackout) {
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

TEST(Network, AScriptDropsWhatItLikes) {
    Pair pair;
    pair.b.setup().in.drop_if = [n = 0](const rte_mbuf&) mutable { return ++n == 2; };
    for (std::uint32_t i = 0; i < 3; ++i) pair.send(i);
    const auto received = pair.run();
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[1].number(), 2u);
    EXPECT_EQ(pair.b.in_counters().dropped_script.value(), 1u);
}

TEST(Network, AReceiverThatDoesNotReadIsOverrun) {
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

TEST(Network, MarksBetweenTheThresholdsWithTheirProbability) {
    // Frames of 1034 bytes find 0, 1034, 2068, ... bytes before them, in each of many rounds.
    constexpr unsigned rounds = 4000, depth = 12;
    Pair pair({}, {.rate_bps = 8'000'000'000, .marking = {.kmin = 3000, .kmax = 9500, .pmax = 0.4}});
    const auto frame = ip_frame(mac(1), mac(0), wire::Ecn::capable_0);
    std::array<unsigned, depth> marked{};
    std::uint64_t total = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned i = 0; i < depth; ++i) ASSERT_TRUE(pair.send(frame));
        const auto received = pair.run();
        ASSERT_EQ(received.size(), depth);
        for (unsigned i = 0; i < depth; ++i) {
            const auto header = wire::Bytes(received[i].bytes).subspan(14, wire::Ipv4::size);
            EXPECT_TRUE(wire::Ipv4::checksum_ok(header));
            const auto ecn = wire::Ipv4::parse(wire::Bytes(received[i].bytes).subspan(14))->ecn;
            if (ecn == wire::Ecn::congestion_experienced) ++marked[i], ++total;
        }
    }
    for (unsigned i = 0; i < depth; ++i) {
        const auto queue = 1034.0 * i;
        const auto wanted = queue <= 3000 ? 0 : queue > 9500 ? 1 : 0.4 * (queue - 3000) / 6500;
        EXPECT_NEAR(static_cast<double>(marked[i]) / rounds, wanted, 0.03) << "behind " << queue << " bytes";
    }
    EXPECT_EQ(pair.b.port_counters().queue_marked.value(), total);
}

TEST(Network, MarksOnlyWhatMayBeMarked) {
    Pair pair({}, {.rate_bps = 8'000'000'000, .marking = {.kmin = 0, .kmax = 1}});
    const auto plain = ip_frame(mac(1), mac(0), wire::Ecn::not_capable);
    const auto other = numbered(mac(1), mac(0), 1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pair.send(plain) && pair.send(other));
    for (const auto& packet : pair.run()) EXPECT_TRUE(packet.bytes == plain || packet.bytes == other);
    EXPECT_EQ(pair.b.port_counters().queue_marked.value(), 0u);
}

TEST(Network, MarksIpv6AndTaggedFrames) {
    ByteVector bytes(14 + 4 + wire::Ipv6::size);
    const auto all = std::span(bytes);
    wire::Ethernet{mac(1), mac(0), wire::ether_type::vlan}.emit(all.first<14>());
    wire::Vlan{.id = 5, .type = wire::ether_type::ipv6}.emit(all.subspan<14, 4>());
    wire::Ipv6 ip{.dscp = 26, .ecn = wire::Ecn::capable_1, .flow_label = 0xabcde};
    ip.emit(all.subspan<18, wire::Ipv6::size>());
    const auto packet = make_packet(bytes);
    EXPECT_TRUE(mark_congestion(*packet));
    ip.ecn = wire::Ecn::congestion_experienced;
    EXPECT_EQ(wire::Ipv6::parse(wire::Bytes(bytes_of(packet)).subspan(18)), ip);
    for (std::size_t n = 0; n < 22; ++n) {
        EXPECT_EQ(mark_congestion(*make_packet(wire::Bytes(bytes).first(n))), false) << "cut short, to " << n;
    }
}

TEST(Network, FloodsWhatItDoesNotKnowAndLearns) {
    Network network(Seed{1}, *test::packet_pool());
    Port* ports[] = {&network.add_port({}), &network.add_port({}), &network.add_port({})};
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

TEST(Network, WhatTheSenderDoesToItsMemoryAfterwardsDoesNotShow) {
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

TEST(Network, RefusesWhatNoCableCarries) {
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

TEST(Network, APortThatIsDownNeitherSendsNorReceives) {
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

TEST(Network, FreesWhatIsUnderWay) {  // the pool is counted after the last test
    Pair pair({.delay = second});
    pair.send(1);
    pair.send(numbered(mac(0), mac(0), 2));
    pair.network.advance(1);
    EXPECT_EQ(pair.network.in_flight(), 2u);
}

}  // namespace
}  // namespace verbline::sim
