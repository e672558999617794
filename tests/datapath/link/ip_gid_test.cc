// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/ip_gid.h"

#include <gtest/gtest.h>

#include "datapath/wire/ipoib.h"

namespace verbline::link {
namespace {

TEST(IpGid, Ipv4IsMappedIntoIpv6) {
    constexpr auto address = wire::ipv4(10, 1, 0, 2);
    EXPECT_EQ(gid_of(address), wire::Gid::of(0, wire::Guid{0xffff'0a01'0002}));
    EXPECT_EQ(ipv4_of(gid_of(address)), address);
    EXPECT_FALSE(ipv4_of(wire::Gid::of(1, wire::Guid{0xffff'0a01'0002}))) << "of IPv6";
    EXPECT_FALSE(ipv4_of(wire::Gid::of(0, wire::Guid{0x0a01'0002}))) << "IPv4-compatible (RFC 4291, 2.5.5.1)";
}

TEST(IpGid, GroupsAreThoseOfEitherFamily) {
    EXPECT_TRUE(is_group(gid_of(wire::ipv4(224, 0, 0, 1))));
    EXPECT_TRUE(is_group(gid_of(wire::ipv4(239, 255, 255, 255))));
    EXPECT_TRUE(is_group(wire::Gid::of(0xff02'0000'0000'0000, wire::Guid{1})));
    EXPECT_TRUE(is_group(wire::ipoib_broadcast_mgid(wire::PKey{0xffff})));
    for (const auto host : {wire::ipv4(223, 255, 255, 255), wire::ipv4(240, 0, 0, 0), wire::ipv4(10, 1, 0, 2)}) {
        EXPECT_FALSE(is_group(gid_of(host)));
    }
    EXPECT_FALSE(is_group(wire::Gid::of(wire::default_subnet_prefix, wire::Guid{1})));
    EXPECT_FALSE(is_group(wire::Gid::of(0, wire::Guid{0xe000'0001}))) << "not mapped";
    EXPECT_FALSE(is_group(wire::Gid{}));
}

}  // namespace
}  // namespace verbline::link
