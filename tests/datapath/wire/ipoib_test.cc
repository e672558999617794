// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ipoib.h"

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/text.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(IpoibHeader, Golden) {
    expect_golden("0800 0000", IpoibHeader{.type = ether_type::ipv4});
}

TEST(IpoibHeader, IgnoresTheReservedBytes) {
    EXPECT_EQ(IpoibHeader::parse(test::from_hex("0806ffff"))->type, ether_type::arp);
}

TEST(IpoibAddress, Golden) {
    expect_golden("80000404 fe80000000000000 0000000000100003",
                  IpoibAddress{.flags = IpoibAddress::connected_rc,
                               .qpn = Qpn{0x404},
                               .gid = Gid::of(default_subnet_prefix, Guid{0x10'0003})});
}

TEST(IpoibAddress, RefusesEveryTruncation) {
    const auto bytes = test::from_hex(emitted(IpoibAddress{}));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        EXPECT_EQ(parse_ipoib_address(Bytes(bytes).first(n)).error(), Malformed::truncated);
    }
}

// As OpenSM made and granted them.
TEST(IpoibMgid, Broadcast) {
    EXPECT_EQ(to_string(ipoib_broadcast_mgid(PKey{0xffff})), "ff12:401b:ffff::ffff:ffff");
    EXPECT_EQ(to_string(ipoib_broadcast_mgid(PKey{0x0001}, 5)), "ff15:401b:8001::ffff:ffff")
        << "full membership whatever the port has";
}

TEST(IpoibMgid, Ipv4GroupKeeps28Bits) {
    EXPECT_EQ(to_string(ipoib_multicast_mgid(ipv4(224, 0, 0, 1), PKey{0xffff})), "ff12:401b:ffff::1");
    EXPECT_EQ(to_string(ipoib_multicast_mgid(ipv4(239, 255, 1, 2), PKey{0x8001})), "ff12:401b:8001::fff:102");
}

TEST(IpoibMgid, Ipv6GroupKeeps80Bits) {
    const auto group = from_string<Ipv6Address>("ff02:1111:2222:3333:4444:1:ff0e:2");
    EXPECT_EQ(to_string(ipoib_multicast_mgid(*group, PKey{0xffff})), "ff12:601b:ffff:3333:4444:1:ff0e:2");
}

}  // namespace
}  // namespace verbline::wire
