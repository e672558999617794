// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/fast_path.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/router/two_ports.h"

namespace verbline::router {
namespace {

using namespace two_ports;
using test::Packet;

using FlowEnds = std::pair<std::uint32_t, std::uint32_t>;

/// One round of a gateway: changes of its neighbours, then a burst from Alice.
struct Round {
    std::vector<Command> commands;
    std::vector<ByteVector> packets;
    std::size_t segment = 2304;  ///< bytes of a packet in each of its buffers
};

/// Not an IP packet: dropped and counted, and nothing behind it in its burst takes the fast path.
ByteVector no_packet() {
    auto packet = ip_packet(alice, bob);
    packet[0] = std::byte{0x75};
    return packet;
}

class Rounds {
public:
    explicit Rounds(unsigned seed) : random_(seed) {}

    Round next() {
        Round round;
        if (one_in(3)) round.commands.push_back(change());
        if (one_in(8)) round.segment = 50;
        const bool strange = one_in(2);
        for (auto n = below(40) + 1; n > 0; --n) {
            if (one_in(6)) {
                add_segments(round);
            } else {
                round.packets.push_back(strange && one_in(4) ? damaged(datagram()) : datagram());
            }
        }
        if (round.packets.size() > 50) round.packets.resize(50);
        return round;
    }

private:
    unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
    bool one_in(unsigned n) { return below(n) == 0; }

    Command change() {
        constexpr std::array who{bob, carol, ipv4(10, 2, 0, 9)};
        const auto address = link::gid_of(who[below(who.size())]);
        if (one_in(3)) return ForgetNeighbour{right, address};
        return SetNeighbour{right, address,
                            link::ethernet_destination(right_mac, mac(0x10 + below(4)), wire::ether_type::ipv4)};
    }

    /// Mostly to Bob and through Carol, and to everyone else.
    wire::Ipv4Address anyone() {
        constexpr std::array others{alice,
                                    carol,
                                    nobody,
                                    left_ip,
                                    right_ip,
                                    ipv4(10, 2, 0, 9),
                                    ipv4(239, 1, 1, 1),
                                    ipv4(255, 255, 255, 255),
                                    ipv4(127, 0, 0, 1)};
        if (one_in(12)) return others[below(others.size())];
        return one_in(2) ? bob : ipv4(10, 3, 0, below(200));
    }

    ByteVector datagram() {
        const auto from = one_in(30) ? ipv4(224, 0, 0, 1) : ipv4(10, 1, 0, 2 + below(3));
        const std::uint8_t ttl = one_in(25) ? 1 : 64;
        const auto payload = one_in(20) ? 900 + below(400) : 8 + below(60);
        auto packet = ip_packet(from, anyone(), payload, ttl, one_in(2));
        wire::store16(packet, Ipv4::size + 2, number_++);  // tells packets apart
        return packet;
    }

    ByteVector damaged(ByteVector packet) {
        switch (below(4)) {
            case 0: packet[below(Ipv4::size)] ^= static_cast<std::byte>(1u << below(8)); break;
            case 1: packet.resize(packet.size() + below(30)); break;  // padding
            case 2: packet.resize(below(packet.size())); break;       // truncated
            default: packet = ip_packet(alice, bob, below(100), 0); break;
        }
        return packet;
    }

    /// Of one flow, which are coalesced if they are more than one.
    void add_segments(Round& round) {
        offload::TcpPacket segment;
        segment.ip.identification = static_cast<std::uint16_t>(below(60'000));
        segment.tcp.source_port = static_cast<std::uint16_t>(4'000 + below(3));
        segment.payload = test::pattern(one_in(3) ? 0 : 100, below(50));
        if (one_in(6)) segment.tcp.flags |= wire::tcp_flag::syn;
        for (auto n = one_in(2) ? 1 : below(5) + 1; n > 0; --n) {
            round.packets.push_back(segment.bytes());
            segment = segment.followed_by(segment.payload.size());
        }
    }

    std::mt19937 random_;
    std::uint16_t number_ = 0;
};

/// All that a gateway did: what it sent on each device, by source and destination of the IP packet in its order, and
/// its counters.
struct Deeds {
    std::map<std::tuple<std::string_view, FlowEnds>, std::vector<ByteVector>> sent;
    std::map<std::string, std::uint64_t> counters;
};

FlowEnds ends_of(const ByteVector& packet, std::size_t ip_at) {
    return {wire::load32(packet, ip_at + 12), wire::load32(packet, ip_at + 16)};
}

void take(Deeds& deeds, std::string_view name, test::FakeNetDevice& device, std::size_t ip_at) {
    for (const auto& packet : std::exchange(device.sent, {})) {
        const auto bytes = bytes_of(packet);
        deeds.sent[{name, ends_of(bytes, ip_at)}].push_back(bytes);
    }
}

void receive(Gateway& gateway, const ByteVector& packet, std::size_t segment = 2304) {
    gateway.left_link.to_receive.push_back(test::make_packet(in_ethernet(left_mac, packet), segment));
}

/// `slow`: each burst begins with what the fast path does not take; else that is in a burst of its own.
Deeds run(unsigned seed, const PortSetup& options, bool slow) {
    Gateway gateway(false, options);
    gateway.resolve(bob), gateway.resolve(carol);
    Rounds rounds(seed);
    Deeds deeds;
    for (int i = 0; i < 150; ++i) {
        const auto round = rounds.next();
        for (const auto& command : round.commands) gateway.command(command);
        gateway.poll();  // neighbours change and expire now, not between the bursts
        receive(gateway, no_packet());
        if (!slow) gateway.poll();
        for (const auto& packet : round.packets) receive(gateway, packet, round.segment);
        gateway.poll();
        while (gateway.events.pop()) continue;
        gateway.now += 50 * millisecond;
        take(deeds, "left", gateway.left_link, Ethernet::size),
            take(deeds, "right", gateway.right_link, Ethernet::size);
        take(deeds, "left kernel", gateway.left_kernel, 0), take(deeds, "right kernel", gateway.right_kernel, 0);
    }
    gateway.shard->counters([&](std::string_view port, std::string_view name, std::uint64_t value, std::string_view) {
        deeds.counters[std::string(port) + " " + std::string(name)] = value;
    });
    // Those of polls differ by the bursts, and with the time.
    std::erase_if(deeds.counters, [](const auto& counter) {
        return counter.first.starts_with(" polls") || counter.first.ends_with("_cycles") ||
               counter.first == " rx_bursts";
    });
    return deeds;
}

void expect_the_same(unsigned seed, const PortSetup& options) {
    const auto fast = run(seed, options, false), slow = run(seed, options, true);
    EXPECT_EQ(fast.counters, slow.counters) << "seed " << seed;
    EXPECT_TRUE(fast.sent == slow.sent) << "seed " << seed;
    EXPECT_GT(fast.counters.at(" forwarded_packets"), 1'000u);
    EXPECT_GT(fast.counters.at(" rx_coalesced"), 50u);
}

class FastPathSeeds : public testing::TestWithParam<unsigned> {};

TEST_P(FastPathSeeds, SendsAndCountsAsTheGeneralWay) {
    expect_the_same(GetParam(), {});
}

TEST_P(FastPathSeeds, LeavesSegmentsWhoseMssIsClamped) {
    expect_the_same(GetParam(), {.clamp_mss = true});
}

TEST_P(FastPathSeeds, LeavesPortsThatCheckReversePaths) {
    expect_the_same(GetParam(), {.reverse_path = forward::ReversePathFilter::strict});
}

INSTANTIATE_TEST_SUITE_P(Seeds, FastPathSeeds, testing::Range(1u, 6u));

/// The parts of a router, with a fast path that a test calls itself.
struct Alone {
    Alone() {
        gateway.resolve(carol);
        egress.set_neighbour(*ports[1], bob, link::ethernet_destination(right_mac, bob_mac, wire::ether_type::ipv4));
        for (auto& port : ports) port->ethernet()->set_mac(right_mac);
    }

    std::size_t forward_packets(pmd::Burst packets) { return fast_path.forward(*ports[0], packets); }
    std::size_t forward_frames(pmd::Burst frames) {
        return fast_path.forward_frames(*ports[0], *ports[0]->ethernet(), frames);
    }

    /// How many of these it takes; as frames of an Ethernet link it takes as many, and sends the same.
    std::size_t forward(const std::vector<ByteVector>& packets) {
        const auto sent = offer(packets, &Alone::forward_packets);
        std::vector<ByteVector> frames;
        for (const auto& packet : packets) frames.push_back(in_ethernet(right_mac, packet));
        EXPECT_EQ(offer(frames, &Alone::forward_frames), sent);
        return sent.size();
    }

    /// What it sends of these, which are as many as it says that it took.
    std::vector<ByteVector> offer(const std::vector<ByteVector>& packets, std::size_t (Alone::*way)(pmd::Burst)) {
        std::vector<Packet> owned;
        std::vector<rte_mbuf*> burst;
        for (const auto& packet : packets) burst.push_back(owned.emplace_back(test::make_packet(packet)).get());
        const auto taken = (this->*way)(burst);
        for (std::size_t i = taken; i < owned.size(); ++i) {
            EXPECT_EQ(bytes_of(owned[i]), packets[i]) << "what is left is as it was";
        }
        for (auto& packet : std::span(owned).first(taken)) std::ignore = packet.release();
        ports[1]->link().flush();
        std::vector<ByteVector> sent;
        for (const auto& frame : std::exchange(gateway.right_link.sent, {})) sent.push_back(bytes_of(frame));
        EXPECT_EQ(sent.size(), taken);
        return sent;
    }

    Gateway gateway;  // for its table and devices
    Ports ports = [this] {
        Ports made;
        const auto add = [&](const char* name, auto& link, auto& kernel, std::uint32_t mtu) {
            const PortSetup setup{.name = name, .device = &link, .kernel = &kernel, .mtu = mtu};
            const auto id = static_cast<InterfaceId>(made.size());
            made.push_back(std::make_unique<ShardPort>(setup, id, std::uint16_t{0}, *test::packet_pool()));
        };
        add("left", gateway.left_link, gateway.left_kernel, 1500);
        add("right", gateway.right_link, gateway.right_kernel, 1000);
        return made;
    }();
    EventSink events{gateway.events, nullptr};
    RouterContext context{
        .ports = ports, .pool = *test::packet_pool(), .events = events, .icmp_limit = TokenBucket::share(1)};
    Egress<Ipv4Family> egress{context, *gateway.fib};
    FastPath<Ipv4Family> fast_path{context, *gateway.fib, egress};
};

TEST(FastPath, TakesOrdinaryPacketsInFront) {
    Alone alone;
    const auto good = ip_packet(alice, bob);
    EXPECT_EQ(alone.forward({good, good, good}), 3u);
    EXPECT_EQ(alone.forward({good, no_packet(), good}), 1u);
    EXPECT_EQ(alone.forward({good, good, ip_packet(alice, bob, 100, 1)}), 2u) << "whose TTL ends here";
    EXPECT_EQ(alone.forward({good, ip_packet(alice, nobody), good}), 1u) << "without a route";
    EXPECT_EQ(alone.forward({good, ip_packet(alice, left_ip), good}), 1u) << "the kernel's";
    EXPECT_EQ(alone.forward({good, ip_packet(alice, ipv4(10, 2, 0, 9)), good}), 1u) << "to an unknown neighbour";
    EXPECT_EQ(alone.forward({good, ip_packet(alice, bob, 1'200), good}), 0u) << "a packet larger than the MTU";
    EXPECT_EQ(alone.context.counters.forwarded_packets.value(), 2 * (3u + 1 + 2 + 1 + 1 + 1)) << "each way";
}

TEST(FastPath, TakesASegmentThatCannotBeCoalesced) {
    Alone alone;
    const auto good = ip_packet(alice, bob);
    const auto segment = offload::TcpPacket{.payload = test::pattern(100)};
    const auto next = segment.followed_by(100);
    EXPECT_EQ(alone.forward({good, segment.bytes(), good}), 3u);
    EXPECT_EQ(alone.forward({good, segment.bytes(), next.bytes()}), 1u);
    EXPECT_EQ(alone.forward({good, segment.bytes(), no_packet()}), 1u) << "others may be behind what it does not take";
    alone.context.clamps_mss = true;
    EXPECT_EQ(alone.forward({good, segment.bytes(), good}), 1u);
}

/// Frames for others, of groups and of other protocols are divided by the general way (EthernetInterface::sort).
TEST(FastPath, TakesFramesToItsOwnAddress) {
    Alone alone;
    const auto packet = ip_packet(alice, bob);
    const auto good = in_ethernet(right_mac, packet);
    auto arp = good;
    wire::store16(arp, 12, 0x0806);
    auto group = good;
    group[0] |= std::byte{1};
    const auto padded = [&] {
        auto frame = good;
        frame.resize(frame.size() + 4);
        return frame;
    }();
    const ByteVector runt(good.begin(), good.begin() + 10);
    const auto taken = [&](const std::vector<ByteVector>& frames) {
        return alone.offer(frames, &Alone::forward_frames).size();
    };
    EXPECT_EQ(taken({good, good}), 2u);
    for (const auto& other : {in_ethernet(alice_mac, packet), arp, group, padded, runt}) {
        EXPECT_EQ(taken({good, other, good}), 1u);
    }
    alone.ports[0]->ethernet()->set_mac(std::nullopt);
    EXPECT_EQ(taken({good}), 0u) << "the link is down";
}

TEST(FastPath, StripsFramesForSeveralPorts) {
    Alone alone;
    alone.egress.set_neighbour(*alone.ports[0], alice,
                               link::ethernet_destination(left_mac, alice_mac, wire::ether_type::ipv4));
    std::vector<Packet> owned;
    std::vector<rte_mbuf*> burst;
    for (const auto to : {bob, alice, bob}) {
        burst.push_back(owned.emplace_back(test::make_packet(in_ethernet(right_mac, ip_packet(carol, to)))).get());
    }
    EXPECT_EQ(alone.forward_frames(burst), 3u);
    for (auto& packet : owned) std::ignore = packet.release();
    for (auto& port : alone.ports) port->link().flush();
    ASSERT_EQ(alone.gateway.right_link.sent.size(), 2u);
    ASSERT_EQ(alone.gateway.left_link.sent.size(), 1u);
    const auto sent = bytes_of(alone.gateway.left_link.sent[0]);
    EXPECT_EQ(ByteVector(sent.begin() + Ethernet::size, sent.end()), ip_packet(carol, alice, 100, 63));
    EXPECT_TRUE(std::ranges::equal(std::span(sent).first<6>(), alice_mac.bytes)) << "behind the header of that port";
}

}  // namespace
}  // namespace verbline::router
