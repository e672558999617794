// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/marking.h"

#include <array>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "tests/sim/network_pair.h"

namespace verbline::sim {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::make_packet;

/// A frame that holds an IPv4 header and 1000 bytes.
ByteVector ip_frame(wire::MacAddress to, wire::MacAddress from, wire::Ecn ecn) {
    auto bytes = test::pattern(14 + 1020);
    wire::Ethernet{to, from, wire::ether_type::ipv4}.emit(std::span(bytes).first<wire::Ethernet::size>());
    const wire::Ipv4 ip{.dscp = 26, .ecn = ecn, .total_length = 1020, .protocol = wire::IpProtocol::udp};
    ip.with_checksum().emit(std::span(bytes).subspan<14, wire::Ipv4::size>());
    return bytes;
}

TEST(Marking, MarksBetweenTheThresholdsWithTheirProbability) {
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

TEST(Marking, MarksOnlyWhatMayBeMarked) {
    Pair pair({}, {.rate_bps = 8'000'000'000, .marking = {.kmin = 0, .kmax = 1}});
    const auto plain = ip_frame(mac(1), mac(0), wire::Ecn::not_capable);
    const auto other = numbered(mac(1), mac(0), 1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pair.send(plain) && pair.send(other));
    for (const auto& packet : pair.run()) EXPECT_TRUE(packet.bytes == plain || packet.bytes == other);
    EXPECT_EQ(pair.b.port_counters().queue_marked.value(), 0u);
}

TEST(Marking, MarksIpv6AndTaggedFrames) {
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

}  // namespace
}  // namespace verbline::sim
