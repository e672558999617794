// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ip_cm_header.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

Ipv6Address bytes(std::string_view hex) {
    Ipv6Address address;
    std::ranges::copy(test::from_hex(hex), address.bytes.begin());
    return address;
}

TEST(IpCmHeader, GoldenIpv4) {
    expect_golden("00 40 b5c3 000000000000000000000000 0a4d0001 000000000000000000000000 0a4d0002",
                  IpCmHeader{.ip_version = 4,
                             .source_port = 0xb5c3,
                             .source = bytes("000000000000000000000000 0a4d0001"),
                             .destination = bytes("000000000000000000000000 0a4d0002")});
}

TEST(IpCmHeader, GoldenIpv6) {
    expect_golden("00 60 1c06 fd770000000000000000000000000001 fd770000000000000000000000000002",
                  IpCmHeader{.ip_version = 6,
                             .source_port = 7174,
                             .source = bytes("fd770000000000000000000000000001"),
                             .destination = bytes("fd770000000000000000000000000002")});
}

TEST(IpCmHeader, OtherVersionsAreRefused) {
    auto header = test::from_hex(emitted(IpCmHeader{}));
    header[0] = std::byte{0x10};
    EXPECT_EQ(IpCmHeader::parse(header).error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire
