// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ipv4.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// The head of a packet of the captures.
constexpr std::string_view captured_header = "4500003c 4b684000 4011daac 0a4d0002 0a4d0001";
const Ipv4 header{.total_length = 60,
                  .identification = 0x4b68,
                  .dont_fragment = true,
                  .time_to_live = 64,
                  .protocol = IpProtocol::udp,
                  .checksum = 0xdaac,
                  .source = ipv4(10, 77, 0, 2),
                  .destination = ipv4(10, 77, 0, 1)};

TEST(Ipv4, Golden) {
    expect_golden(captured_header, header);
}

TEST(Ipv4, GoldenOfTheRarerFields) {
    expect_golden("46b90018 00003fff 01060000 00000000 00000000", Ipv4{.header_words = 6,
                                                                       .dscp = 46,
                                                                       .ecn = Ecn::capable_1,
                                                                       .total_length = 24,
                                                                       .more_fragments = true,
                                                                       .fragment_offset = 0x1fff,
                                                                       .time_to_live = 1,
                                                                       .protocol = IpProtocol::tcp});
}

TEST(Ipv4, ChecksumIsThatOfTheSender) {
    EXPECT_TRUE(Ipv4::checksum_ok(test::from_hex(captured_header)));
    Ipv4 blank = header;
    blank.checksum = 0;
    EXPECT_EQ(blank.with_checksum(), header);
    auto damaged = test::from_hex(captured_header);
    damaged[8] ^= std::byte{1};
    EXPECT_FALSE(Ipv4::checksum_ok(damaged));
}

std::vector<std::byte> packet(std::string_view first_word, std::size_t size) {
    auto bytes = test::from_hex(captured_header);
    std::ranges::copy(test::from_hex(first_word), bytes.begin());
    bytes.resize(size);
    return bytes;
}

TEST(Ipv4, RefusesOtherVersions) {
    for (const auto* first : {"0500003c", "3500003c", "5500003c", "6500003c", "f500003c"}) {
        EXPECT_EQ(Ipv4::parse(packet(first, 60)).error(), Malformed::version) << first;
    }
}

TEST(Ipv4, RefusesAHeaderLengthBelowTheMinimum) {
    EXPECT_EQ(Ipv4::parse(packet("4400003c", 60)).error(), Malformed::length);
    EXPECT_EQ(Ipv4::parse(packet("4000003c", 60)).error(), Malformed::length);
}

TEST(Ipv4, RefusesOptionsThatAreNotThere) {
    EXPECT_TRUE(Ipv4::parse(packet("4f00003c", 60)));
    EXPECT_EQ(Ipv4::parse(packet("4f00003c", 59)).error(), Malformed::truncated);
}

TEST(Ipv4, RefusesATotalLengthShorterThanTheHeader) {
    EXPECT_EQ(Ipv4::parse(packet("45000013", 60)).error(), Malformed::length);
    EXPECT_EQ(Ipv4::parse(packet("4f00003b", 60)).error(), Malformed::length);
    EXPECT_TRUE(Ipv4::parse(packet("45000014", 60))) << "a packet without payload is one, behind it is link padding";
}

TEST(Ipv4, RefusesATotalLengthBeyondThePacket) {
    EXPECT_EQ(Ipv4::parse(packet("4500003c", 59)).error(), Malformed::truncated);
    EXPECT_TRUE(Ipv4::parse(packet("4500003c", 20), 60)) << "the rest is in other buffers";
    EXPECT_EQ(Ipv4::parse(packet("4500003c", 20), 59).error(), Malformed::truncated);
}

TEST(Ipv4, KnowsAFragment) {
    EXPECT_FALSE(Ipv4{}.is_fragment());
    EXPECT_TRUE((Ipv4{.more_fragments = true}.is_fragment()));
    EXPECT_TRUE((Ipv4{.fragment_offset = 1}.is_fragment()));
}

}  // namespace
}  // namespace verbline::wire
