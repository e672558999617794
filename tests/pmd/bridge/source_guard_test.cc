// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/source_guard.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/support/hex.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::ByteVector;
using Verdict = SourceGuard::Verdict;

wire::MacAddress mac_of(const char* text) {
    return *wire::from_string<wire::MacAddress>(text);
}
wire::Gid gid_of(const char* text) {
    return *wire::from_string<wire::Gid>(text);
}

const ByteVector own_mac = test::from_hex("06 76 0a 63 00 01"), other_mac = test::from_hex("06 76 0a 63 00 02");
const ByteVector own_ipv4 = test::from_hex("0a 63 00 01"), other_ipv4 = test::from_hex("0a 63 00 02"), no_ipv4(4);
const ByteVector own_ipv6 = test::from_hex("fd76 6572 b11e 0000 0000 0000 0000 0001"),
                 other_ipv6 = test::from_hex("fd76 6572 b11e 0000 0000 0000 0000 0002"),
                 no_ipv6(16), own_link_local = test::from_hex("fe80 0000 0000 0000 0476 0aff fe63 0001"),
                 mapped_ipv4 = test::from_hex("0000 0000 0000 0000 0000 ffff 0a63 0001"),
                 other_mapped = test::from_hex("0000 0000 0000 0000 0000 ffff 0a63 0002");

template <class... Parts>
ByteVector join(const Parts&... parts) {
    ByteVector all;
    (all.insert(all.end(), parts.begin(), parts.end()), ...);
    return all;
}

ByteVector ethernet(const char* type, const ByteVector& payload) {
    return join(other_mac, own_mac, test::from_hex(type), payload);
}
ByteVector ipv4(const ByteVector& source) {
    return join(test::from_hex("45 00 00 1c 0000 0000 40 11 0000"), source, other_ipv4, ByteVector(8));
}
ByteVector ipv6(const ByteVector& source, std::uint8_t next_header, const ByteVector& payload) {
    const ByteVector length{static_cast<std::byte>(payload.size() >> 8), static_cast<std::byte>(payload.size())};
    return join(test::from_hex("60 00 00 00"), length, ByteVector{std::byte{next_header}}, test::from_hex("ff"), source,
                other_ipv6, payload);
}
ByteVector arp(const ByteVector& link, const ByteVector& sender) {
    return join(test::from_hex("0001 0800 06 04 0002"), link, sender, other_mac, other_ipv4);
}
ByteVector message(std::uint8_t type, const ByteVector& rest) {
    return join(ByteVector{std::byte{type}}, test::from_hex("00 0000 00000000"), rest);
}
ByteVector link_option(std::uint8_t type, const ByteVector& mac) {
    return join(ByteVector{std::byte{type}}, test::from_hex("01"), mac);
}
constexpr std::uint8_t rs = 133, ra = 134, ns = 135, na = 136, redirect = 137, icmpv6 = 58;

struct SourceGuardTest : ::testing::Test {
    Verdict check(const ByteVector& frame) { return guard.check(*test::make_packet(frame)); }
    /// Of an ICMPv6 message from our address.
    Verdict check_nd(const ByteVector& bytes) { return check(ethernet("86dd", ipv6(own_ipv6, icmpv6, bytes))); }

    SourceGuard guard{mac_of("06:76:0a:63:00:01"),
                      {gid_of("::ffff:10.99.0.1"), gid_of("fd76:6572:b11e::1"), gid_of("fe80::476:aff:fe63:1")}};
};

TEST_F(SourceGuardTest, Ipv4SourceIsTheLanesOwn) {
    EXPECT_EQ(check(ethernet("0800", ipv4(own_ipv4))), Verdict::passes);
    EXPECT_EQ(check(ethernet("0800", ipv4(no_ipv4))), Verdict::passes);
    EXPECT_EQ(check(ethernet("0800", ipv4(other_ipv4))), Verdict::foreign_ip);
    EXPECT_EQ(check(ethernet("0800", test::from_hex("45 00"))), Verdict::foreign_ip) << "truncated";
}

TEST_F(SourceGuardTest, Ipv6SourceIsTheLanesOwn) {
    for (const auto& own : {own_ipv6, own_link_local, no_ipv6}) {
        EXPECT_EQ(check(ethernet("86dd", ipv6(own, 17, ByteVector(8)))), Verdict::passes);
    }
    EXPECT_EQ(check(ethernet("86dd", ipv6(other_ipv6, 17, ByteVector(8)))), Verdict::foreign_ip);
    EXPECT_EQ(check(ethernet("86dd", ByteVector(39))), Verdict::foreign_ip) << "truncated";
}

TEST_F(SourceGuardTest, RoceV1SourceGidIsTheLanesOwn) {
    for (const auto& own : {own_ipv6, own_link_local, mapped_ipv4}) {
        EXPECT_EQ(check(ethernet("8915", ipv6(own, 27, ByteVector(12)))), Verdict::passes);
    }
    for (const auto& foreign : {other_ipv6, other_mapped}) {
        EXPECT_EQ(check(ethernet("8915", ipv6(foreign, 27, ByteVector(12)))), Verdict::foreign_ip);
    }
    EXPECT_EQ(check(ethernet("8915", ByteVector(39))), Verdict::foreign_ip) << "truncated";
}

TEST_F(SourceGuardTest, VlanTagsHideNothing) {
    EXPECT_EQ(check(ethernet("8100 0007 0800", ipv4(own_ipv4))), Verdict::passes);
    EXPECT_EQ(check(ethernet("8100 0007 0800", ipv4(other_ipv4))), Verdict::foreign_ip);
    EXPECT_EQ(check(ethernet("88a8 0007 8100 0007 0800", ipv4(other_ipv4))), Verdict::foreign_ip);
    EXPECT_EQ(check(ethernet("88a8 0007 8100 0007 0800", ipv4(own_ipv4))), Verdict::passes);
    EXPECT_EQ(check(ethernet("8100 0007 8100 0007 8100 0007 0800", ipv4(own_ipv4))), Verdict::foreign_ip);
    EXPECT_EQ(check(ethernet("8100", test::from_hex("00"))), Verdict::foreign_ip) << "truncated";
}

TEST_F(SourceGuardTest, ArpSenderIsTheLaneItself) {
    EXPECT_EQ(check(ethernet("0806", arp(own_mac, own_ipv4))), Verdict::passes);
    EXPECT_EQ(check(ethernet("0806", arp(own_mac, no_ipv4))), Verdict::passes) << "a probe (RFC 5227)";
    EXPECT_EQ(check(ethernet("0806", arp(own_mac, other_ipv4))), Verdict::foreign_arp);
    EXPECT_EQ(check(ethernet("0806", arp(other_mac, own_ipv4))), Verdict::foreign_arp);
    EXPECT_EQ(check(ethernet("0806", test::from_hex("0001 0800"))), Verdict::foreign_arp) << "truncated";
}

TEST_F(SourceGuardTest, NeighbourDiscoveryIsForTheLaneItself) {
    EXPECT_EQ(check_nd(message(ns, join(other_ipv6, link_option(1, own_mac)))), Verdict::passes);
    EXPECT_EQ(check_nd(message(ns, other_ipv6)), Verdict::passes);
    EXPECT_EQ(check_nd(message(na, join(own_ipv6, link_option(2, own_mac)))), Verdict::passes);
    EXPECT_EQ(check_nd(message(rs, link_option(1, own_mac))), Verdict::passes);
    EXPECT_EQ(check_nd(message(128, ByteVector(8))), Verdict::passes) << "an echo request";

    EXPECT_EQ(check_nd(message(ns, join(other_ipv6, link_option(1, other_mac)))), Verdict::foreign_nd);
    EXPECT_EQ(check_nd(message(na, join(own_ipv6, link_option(2, other_mac)))), Verdict::foreign_nd);
    EXPECT_EQ(check_nd(message(na, join(own_ipv6, link_option(2, own_mac), link_option(2, other_mac)))),
              Verdict::foreign_nd);
    EXPECT_EQ(check_nd(message(na, join(other_ipv6, link_option(2, own_mac)))), Verdict::foreign_nd);
    EXPECT_EQ(check_nd(message(rs, link_option(1, other_mac))), Verdict::foreign_nd);
}

TEST_F(SourceGuardTest, AHostIsNoRouter) {
    EXPECT_EQ(check_nd(message(ra, ByteVector(8))), Verdict::foreign_nd);
    EXPECT_EQ(check_nd(message(redirect, ByteVector(32))), Verdict::foreign_nd);
}

TEST_F(SourceGuardTest, MalformedNeighbourDiscoveryIsRefused) {
    EXPECT_EQ(check_nd({}), Verdict::foreign_nd);
    EXPECT_EQ(check_nd(message(na, ByteVector(15))), Verdict::foreign_nd);
    EXPECT_EQ(check_nd(message(na, join(own_ipv6, test::from_hex("02 00 0000 0000 0000")))), Verdict::foreign_nd)
        << "an option of no length";
    EXPECT_EQ(check_nd(message(na, join(own_ipv6, test::from_hex("02 02 0000 0000 0000")))), Verdict::foreign_nd);
}

TEST_F(SourceGuardTest, ExtensionHeadersHideNothing) {
    const auto advertisement = message(ra, ByteVector(8));
    for (const std::uint8_t kind : {0, 43, 60}) {
        const auto extension = test::from_hex("3a 00 0104 0000 0000");
        EXPECT_EQ(check(ethernet("86dd", ipv6(own_ipv6, kind, join(extension, advertisement)))), Verdict::foreign_nd);
        EXPECT_EQ(check(ethernet("86dd", ipv6(own_ipv6, kind, join(extension, message(128, ByteVector(8)))))),
                  Verdict::passes);
        EXPECT_EQ(check(ethernet("86dd", ipv6(own_ipv6, kind, test::from_hex("3a 01 0104 0000 0000")))),
                  Verdict::foreign_nd)
            << "longer than the packet";
    }
    ByteVector many;
    for (unsigned i = 0; i < 9; ++i) many = join(many, test::from_hex("3c 00 0104 0000 0000"));
    EXPECT_EQ(check(ethernet("86dd", ipv6(own_ipv6, 60, many))), Verdict::foreign_nd);
}

TEST_F(SourceGuardTest, OtherFramesPass) {
    EXPECT_EQ(check(ethernet("88b5", ByteVector(20))), Verdict::passes);
    EXPECT_EQ(check(ethernet("0003", {})), Verdict::passes);
}

}  // namespace
}  // namespace verbline::pmd
