// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/ipv6_gateways.h"

#include <gtest/gtest.h>

#include "tests/support/ipv6.h"

namespace verbline::host {
namespace {

using test::ipv6;
using wire::ipv4;

TEST(Ipv6Gateways, HaveAStandInEach) {
    Ipv6Gateways gateways;
    EXPECT_FALSE(gateways.find(ipv6("fe80::1")));
    const auto first = gateways.add(ipv6("fe80::1")), second = gateways.add(ipv6("fd76::1"));
    ASSERT_TRUE(first && second);
    EXPECT_NE(first, second);
    EXPECT_EQ(gateways.add(ipv6("fe80::1")), first) << "for good";
    EXPECT_EQ(gateways.find(ipv6("fd76::1")), second);
    EXPECT_EQ(gateways.gateway_of(*first), ipv6("fe80::1"));
    EXPECT_EQ(gateways.gateway_of(*second), ipv6("fd76::1"));
    for (const auto other : {ipv4(10, 1, 0, 1), ipv4(127, 0, 0, 0), ipv4(127, 0, 0, 3), ipv4(0, 0, 0, 0)}) {
        EXPECT_FALSE(gateways.gateway_of(other));
    }
}

TEST(Ipv6Gateways, AreBoundedAndOnNoLink) {
    Ipv6Gateways gateways;
    wire::Ipv6Address gateway = ipv6("fe80::");
    for (std::size_t i = 0; i < Ipv6Gateways::max; ++i) {
        gateway.bytes[14] = static_cast<std::byte>(i >> 8), gateway.bytes[15] = static_cast<std::byte>(i);
        const auto stand_in = gateways.add(gateway);
        ASSERT_TRUE(stand_in) << i;
        ASSERT_EQ(static_cast<std::uint32_t>(*stand_in) >> 24, 127u) << i;
    }
    EXPECT_FALSE(gateways.add(ipv6("fd76::1")));
    EXPECT_TRUE(gateways.add(gateway)) << "known already";
}

}  // namespace
}  // namespace verbline::host
