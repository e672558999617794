// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/dhcpv6.h"

#include <string>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Dhcpv6, Golden) {
    expect_golden("01 a1b2c3", Dhcpv6{.type = 1, .transaction = 0xa1b2c3});
    expect_golden("0012 0003", Dhcpv6Option{.code = dhcpv6_option::interface_id, .length = 3});
}

TEST(Dhcpv6, GoldenOfARelaysHeader) {
    expect_golden("0c 01 fd760001000000000000000000000001 fe800000000000005054 00fffe0e0002",
                  Dhcpv6Relay{.type = dhcpv6_type::relay_forward,
                              .hop_count = 1,
                              .link = *from_string<Ipv6Address>("fd76:1::1"),
                              .peer = *from_string<Ipv6Address>("fe80::5054:ff:fe0e:2")});
}

TEST(Dhcpv6, ClientsSendToAllRelaysAndServers) {
    EXPECT_EQ(to_string(dhcpv6_relays_and_servers), "ff02::1:2");
}

TEST(Dhcpv6Options, AreFoundByTheirCodes) {
    const auto area = test::from_hex("0012 0003 6c616e 0009 0000 0012 0001 ff");
    const auto options = Dhcpv6Options::parse(area);
    ASSERT_TRUE(options);
    EXPECT_EQ(test::to_hex(*options->find(dhcpv6_option::interface_id)), "6c616e") << "the first";
    EXPECT_TRUE(options->find(dhcpv6_option::relay_message)->empty());
    EXPECT_FALSE(options->find(0x6c61)) << "within another's value";
    EXPECT_FALSE(Dhcpv6Options::parse({})->find(18));
}

TEST(Dhcpv6Options, RefuseEveryTruncation) {
    const auto area = test::from_hex("0012 0003 6c616e 0009 0000");
    for (std::size_t size = 0; size <= area.size(); ++size)
        EXPECT_EQ(Dhcpv6Options::parse(Bytes(area).first(size)).has_value(), size == 0 || size == 7 || size == 11)
            << size;
}

}  // namespace
}  // namespace verbline::wire
