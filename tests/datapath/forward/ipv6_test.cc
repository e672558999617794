// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/ipv6.h"

#include <algorithm>
#include <array>
#include <random>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::forward::over_ipv6_checks {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::ipv6;
using test::make_packet;
using enum Ipv6Discard;

const wire::Ipv6 good{.payload_length = 80,
                      .next_header = wire::IpProtocol::udp,
                      .source = ipv6("fd76:1::2"),
                      .destination = ipv6("fd76:2::2")};

ByteVector packet(const wire::Ipv6& header, std::size_t size = 120) {
    std::array<std::byte, wire::Ipv6::size> first;
    header.emit(first);
    auto bytes = test::pattern(size);
    std::ranges::copy(std::span(first).first(std::min(size, first.size())), bytes.begin());
    return bytes;
}
std::optional<Ipv6Discard> check(const ByteVector& bytes) {
    return check_ipv6(*make_packet(bytes));
}
std::optional<Ipv6Discard> check_from(std::string_view source, std::string_view destination = "fd76:2::2") {
    auto header = good;
    header.source = ipv6(source), header.destination = ipv6(destination);
    return check(packet(header));
}

TEST(CheckIpv6, PassesWhatIsInOrder) {
    EXPECT_EQ(check(packet(good)), std::nullopt);
    EXPECT_EQ(check_from("fe80::2", "fe80::1"), std::nullopt);
    EXPECT_EQ(check_from("fe80::2", "ff02::1"), std::nullopt);
}

/// Whatever is plain passes as it is; what is not may still be in order.
TEST(IsPlainIpv6, AgreesWithTheWholeCheck) {
    std::mt19937 random(6);
    const std::array addresses{"::",      "::1",       "::ffff:1.2.3.4", "1::",    "100::1",
                               "fe80::2", "fd76:2::2", "ff01::1",        "ff02::1"};
    unsigned plain = 0;
    for (int i = 0; i < 10'000; ++i) {
        auto header = good;
        header.source = ipv6(addresses[random() % addresses.size()]);
        header.destination = ipv6(addresses[random() % addresses.size()]);
        header.payload_length = static_cast<std::uint16_t>(79 + random() % 3);
        auto bytes = packet(header);
        if (random() % 4 == 0) bytes[random() % 40] ^= std::byte{1} << random() % 8;
        const auto p = make_packet(bytes, random() % 8 == 0 ? 39 : 2000);
        if (!is_plain_ipv6(*p)) continue;
        ++plain;
        ASSERT_EQ(check_ipv6(*p), std::nullopt);
        ASSERT_EQ(bytes_of(p), bytes) << "trimmed";
    }
    EXPECT_GT(plain, 100u);
    EXPECT_TRUE(is_plain_ipv6(*make_packet(packet(good))));
}

TEST(CheckIpv6, RefusesEveryTruncation) {
    const auto whole = packet(good);
    for (std::size_t size = 1; size < whole.size(); ++size) {
        EXPECT_EQ(check(packet(good, size)), size < 40 ? rx_dropped_ipv6_header : rx_dropped_ipv6_truncated) << size;
    }
}

TEST(CheckIpv6, RefusesOtherVersions) {
    for (const unsigned version : {0, 4, 5, 7, 15}) {
        auto bytes = packet(good);
        bytes[0] = static_cast<std::byte>(version << 4);
        EXPECT_EQ(check(bytes), rx_dropped_ipv6_version) << version;
    }
}

TEST(CheckIpv6, RefusesMartians) {
    for (const auto* source : {"::", "::1", "ff02::1", "::ffff:10.1.0.2"}) {
        EXPECT_EQ(check_from(source), rx_dropped_ipv6_martian_source) << source;
    }
    for (const auto* destination : {"::", "::1", "::ffff:10.2.0.2", "ff00::1", "ff01::1", "ff11::1"}) {
        EXPECT_EQ(check_from("fd76:1::2", destination), rx_dropped_ipv6_martian_destination) << destination;
    }
}

TEST(CheckIpv6, LetsAHostWithoutAddressSpeakToGroups) {
    EXPECT_EQ(check_from("::", "ff02::1:ff00:2"), std::nullopt) << "duplicate address detection";
    EXPECT_EQ(check_from("::", "ff02::16"), std::nullopt) << "MLD";
    EXPECT_EQ(check_from("::1", "ff02::1"), rx_dropped_ipv6_martian_source);
}

TEST(CheckIpv6, CutsOffPaddingWhereverItBegins) {
    const auto whole = packet(good);
    for (const std::size_t padding : {1, 30, 61, 200}) {
        ByteVector padded(whole.size() + padding);
        std::ranges::copy(whole, padded.begin());
        for (const std::size_t segment : {50, 60, 120, 2000}) {
            const auto p = make_packet(padded, segment);
            ASSERT_EQ(check_ipv6(*p), std::nullopt);
            EXPECT_EQ(bytes_of(p), whole);
            rte_mbuf_sanity_check(p.get(), 1);
        }
    }
}

TEST(NeighbourDiscovery, IsToldFromOtherIcmpv6) {
    auto header = good;
    header.next_header = wire::IpProtocol::icmpv6;
    for (unsigned type = 0; type < 256; ++type) {
        auto bytes = packet(header);
        bytes[40] = static_cast<std::byte>(type);
        EXPECT_EQ(is_neighbour_discovery(*make_packet(bytes)), type == 135 || type == 136) << type;
    }
    auto udp = packet(good);
    udp[40] = std::byte{135};
    EXPECT_FALSE(is_neighbour_discovery(*make_packet(udp)));
    EXPECT_FALSE(is_neighbour_discovery(*make_packet(packet(header, 40))));
}

TEST(DecrementHopLimit, ChangesNothingElse) {
    for (unsigned hops = 1; hops < 256; ++hops) {
        auto header = good;
        header.hop_limit = static_cast<std::uint8_t>(hops);
        const auto p = make_packet(packet(header));
        decrement_hop_limit(*p);
        --header.hop_limit;
        ASSERT_EQ(bytes_of(p), packet(header));
    }
}

}  // namespace
}  // namespace verbline::forward::over_ipv6_checks
