// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/groups.h"

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::ipoib {
namespace {

wire::Gid ipv6_group(const char* text) {
    return link::gid_of(*wire::from_string<wire::Ipv6Address>(text));
}

TEST(IpoibGroup, IsFoundByItsMgid) {
    for (const auto pkey : {wire::PKey{0xffff}, wire::PKey{0x8001}, wire::PKey{0x0001}}) {
        for (const auto& group : {link::gid_of(wire::ipv4(224, 0, 0, 22)), link::gid_of(wire::ipv4(239, 255, 1, 2)),
                                  ipv6_group("ff02::1"), ipv6_group("ff02::1:ff00:7")}) {
            EXPECT_EQ(group_of(mgid_of(group, pkey)), group) << to_string(group);
        }
    }
}

TEST(IpoibGroup, TheBroadcastGroupIsThatOfItsAddress) {
    EXPECT_EQ(group_of(wire::ipoib_broadcast_mgid(wire::PKey{0xffff})), link::gid_of(wire::ipv4(255, 255, 255, 255)));
}

TEST(IpoibGroup, AnMgidDoesNotSayTheScopeOfAnIpv6Group) {
    EXPECT_EQ(group_of(mgid_of(ipv6_group("ff05::1:3"), wire::PKey{0xffff})), ipv6_group("ff02::1:3"));
}

TEST(IpoibGroup, OtherMgidsHaveNone) {
    EXPECT_EQ(group_of(wire::ipoib_mgid(0xa01b, wire::PKey{0xffff}, wire::link_local_scope)), std::nullopt);
    EXPECT_EQ(group_of({}), std::nullopt);
}

}  // namespace
}  // namespace verbline::ipoib
