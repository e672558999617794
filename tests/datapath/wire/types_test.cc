// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/types.h"

#include <string_view>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Psn, ComparesAcrossTheWrap) {
    EXPECT_EQ(Psn(1) - Psn(0xffffff), 2);
    EXPECT_EQ(Psn(0xffffff) - Psn(1), -2);
    EXPECT_EQ(Psn(0xffffff) + 1, Psn(0));
    EXPECT_EQ(Psn(0x800000) - Psn(0), -0x800000);
    EXPECT_EQ(Psn(0x7fffff) - Psn(0), 0x7fffff);
}

TEST(PKey, MatchesOnThePartitionAndNeedsOneFullMember) {
    EXPECT_TRUE(match(PKey{0x8001}, PKey{0x8001}));
    EXPECT_TRUE(match(PKey{0x8001}, PKey{0x0001}));
    EXPECT_FALSE(match(PKey{0x0001}, PKey{0x0001})) << "two limited members do not talk";
    EXPECT_FALSE(match(PKey{0x8001}, PKey{0x8002}));
    EXPECT_FALSE(match(PKey{0x8000}, PKey{0x8000})) << "no partition";
}

TEST(Lid, MulticastIsARange) {
    EXPECT_FALSE(is_multicast(Lid{0xbfff}));
    EXPECT_TRUE(is_multicast(Lid{0xc000}));
    EXPECT_TRUE(is_multicast(Lid{0xfffe}));
    EXPECT_FALSE(is_multicast(permissive_lid));
}

TEST(Gid, HasTwoHalves) {
    const auto gid = Gid::of(default_subnet_prefix, Guid{0x0002'c903'0000'0001});
    EXPECT_EQ(test::to_hex(gid.bytes), "fe800000000000000002c90300000001");
    EXPECT_EQ(gid.prefix(), default_subnet_prefix);
    EXPECT_EQ(gid.interface_id(), Guid{0x0002'c903'0000'0001});
}

TEST(Ipv6Prefix, NamesItsNetwork) {
    const auto address = [](std::string_view text) { return *from_string<Ipv6Address>(text); };
    const auto whole = address("fd76:1:2:3ff:4:5:6:7");
    EXPECT_EQ((Ipv6Prefix{whole, 64}.network()), address("fd76:1:2:3ff::"));
    EXPECT_EQ((Ipv6Prefix{whole, 57}.network()), address("fd76:1:2:380::"));
    EXPECT_EQ((Ipv6Prefix{whole, 0}.network()), Ipv6Address{});
    EXPECT_EQ((Ipv6Prefix{whole, 128}.network()), whole);
    EXPECT_TRUE((Ipv6Prefix{whole, 57}.contains(address("fd76:1:2:380::1"))));
    EXPECT_FALSE((Ipv6Prefix{whole, 57}.contains(address("fd76:1:2:37f::1"))));
}

TEST(Ipv6Address, KnowsItsScope) {
    const auto address = [](std::string_view text) { return *from_string<Ipv6Address>(text); };
    EXPECT_TRUE(is_multicast(address("ff02::1")));
    EXPECT_FALSE(is_multicast(address("fe80::1")));
    EXPECT_TRUE(is_link_local(address("fe80::1")));
    EXPECT_TRUE(is_link_local(address("febf::1")));
    EXPECT_FALSE(is_link_local(address("fec0::1")));
}

TEST(Ipv4Prefix, NamesItsNetwork) {
    const Ipv4Prefix prefix{ipv4(10, 1, 2, 3), 24};
    EXPECT_EQ(prefix.network(), ipv4(10, 1, 2, 0));
    EXPECT_EQ(prefix.broadcast(), ipv4(10, 1, 2, 255));
    EXPECT_TRUE(prefix.contains(ipv4(10, 1, 2, 200)));
    EXPECT_FALSE(prefix.contains(ipv4(10, 1, 3, 3)));
    EXPECT_TRUE((Ipv4Prefix{ipv4(10, 0, 0, 0), 0}.contains(ipv4(192, 168, 0, 1)))) << "the default route";
    EXPECT_FALSE((Ipv4Prefix{ipv4(10, 0, 0, 0), 32}.contains(ipv4(10, 0, 0, 1))));
}

}  // namespace
}  // namespace verbline::wire
