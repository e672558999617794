// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/reverse_path.h"

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/support/receive_area.h"

namespace verbline::link {
namespace {

using namespace test::receive_area;

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
