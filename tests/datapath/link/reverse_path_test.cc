// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/reverse_path.h"

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipv4.h"

namespace verbline::link {
namespace {

using Area = std::array<std::byte, wire::Grh::size>;

constexpr wire::Ipv4Address peer{0x0a000002}, ours{0x0a000001};
constexpr auto udp = std::to_underlying(wire::IpProtocol::udp);

wire::Gid gid(std::uint8_t last) {
    wire::Gid result;
    wire::store16(result.bytes, 0, 0xfe80);
    result.bytes[15] = std::byte{last};
    return result;
}

constexpr wire::Ipv4 ip_header{.dscp = 26,
                               .ecn = wire::Ecn::congestion_experienced,
                               .total_length = 1052,
                               .dont_fragment = true,
                               .protocol = wire::IpProtocol::udp,
                               .source = peer,
                               .destination = ours};

/// As a receive buffer begins: what stands before the IPv4 header was there already.
Area over_ipv4(const wire::Ipv4& header, std::byte before = std::byte{0x6f}) {
    Area area;
    area.fill(before);
    header.emit(std::span(area).last<wire::Ipv4::size>());
    return area;
}

Area over_grh(const wire::Grh& grh) {
    Area area;
    grh.emit(area);
    return area;
}

TEST(ReversePath, Ipv4IsReadFromTheLastTwentyBytes) {
    const ReversePath expected{.peer = gid_of(peer), .ours = gid_of(ours), .traffic_class = 26 << 2, .udp = true};
    for (const auto before : {std::byte{0}, std::byte{0x6f}, std::byte{0xff}}) {
        EXPECT_EQ(reverse_path(over_ipv4(ip_header.with_checksum(), before)), expected)
            << "whatever was in the buffer, and without the congestion mark";
    }
}

TEST(ReversePath, GrhIsReadWhole) {
    EXPECT_EQ(
        reverse_path(over_grh({.traffic_class = 0xab, .flow_label = 0x12345, .source = gid(2), .destination = gid(1)})),
        (ReversePath{.peer = gid(2), .ours = gid(1), .flow_label = 0x12345, .traffic_class = 0xab}));
    EXPECT_EQ(
        reverse_path(over_grh({.traffic_class = 0xab, .next_header = udp, .source = gid(2), .destination = gid(1)})),
        (ReversePath{.peer = gid(2), .ours = gid(1), .traffic_class = 0xa8, .udp = true}));
}

TEST(ReversePath, AGidThatLooksLikeAnIpv4HeaderIsNone) {
    wire::Grh grh{.source = gid(2), .destination = gid(1)};
    grh.source.bytes[12] = std::byte{0x45};  // where an IPv4 header would begin
    grh.destination.bytes[5] = std::byte{udp};
    EXPECT_EQ(reverse_path(over_grh(grh))->peer, grh.source);
}

TEST(ReversePath, WhatIsNeitherIsRefused) {
    auto wrong = ip_header.with_checksum();
    wrong.checksum ^= 1;
    EXPECT_FALSE(reverse_path(over_ipv4(wrong, std::byte{0}))) << "checksum";
    auto tcp = ip_header;
    tcp.protocol = wire::IpProtocol::tcp;
    EXPECT_FALSE(reverse_path(over_ipv4(tcp.with_checksum(), std::byte{0}))) << "not UDP";
    auto options = ip_header;
    options.header_words = 6;
    EXPECT_FALSE(reverse_path(over_ipv4(options.with_checksum(), std::byte{0}))) << "longer than what is there";
    EXPECT_FALSE(reverse_path(Area{})) << "zeros";
}

}  // namespace
}  // namespace verbline::link
