// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/interface_address.h"

#include <gtest/gtest.h>

namespace verbline::link {
namespace {

TEST(InterfaceAddress, IsWrittenAndReadAlike) {
    for (const auto* text : {"10.99.0.1/16", "192.168.7.255/8", "fd76::1/64", "2001:db8::/32", "0.0.0.0/0"}) {
        const auto address = parse_interface_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(to_string(*address), text);
    }
}

TEST(InterfaceAddress, OfAnInfinibandPortIsInAPartition) {
    for (const auto* const text : {"10.8.0.1/24%0x8001", "fd00::1/64%0x9234", "10.8.0.1/24"}) {
        const auto address = parse_ipoib_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(to_string(*address), text);
        EXPECT_TRUE(usable(*address));
    }
    EXPECT_EQ(parse_ipoib_address("10.8.0.1/24%1"), parse_ipoib_address("10.8.0.1/24%0x8001"))
        << "it is known by its full members' P_Key";
    EXPECT_EQ(parse_ipoib_address("10.8.0.1/24%0xffff"), parse_interface_address("10.8.0.1/24"));
    for (const auto* const text : {"10.8.0.1/24%", "10.8.0.1/24%0x8000", "10.8.0.1/24%0", "10.8.0.1/24%blue",
                                   "10.8.0.1/24%0x18001", "10.8.0.1%0x8001/24"})
        EXPECT_FALSE(parse_ipoib_address(text)) << text;
    EXPECT_FALSE(parse_interface_address("10.8.0.1/24%0x8001")) << "elsewhere there are none";
    EXPECT_FALSE(usable({parse_interface_address("10.8.0.1/24")->gid, 24, wire::PKey{0x8000}}));
}

TEST(InterfaceAddress, NothingElseIsRead) {
    for (const auto* text : {"", "10.99.0.1", "10.99.0.1/33", "10.99.0.1/-1", "10.99.0.1/16 ", "fd76::1", "fd76::1/129",
                             "fd76::1/", "fd76::1/64x", "::ffff:10.0.0.1/120", "host/24", "/24"}) {
        EXPECT_FALSE(parse_interface_address(text)) << text;
    }
}

TEST(InterfaceAddress, OnlyAHostsAddressIsUsable) {
    for (const auto* text : {"10.99.0.1/16", "10.0.0.0/31", "10.0.0.1/31", "10.0.0.0/32", "fd76::1/64", "fe80::1/64"}) {
        EXPECT_TRUE(usable(*parse_interface_address(text))) << text;
    }
    for (const auto* text : {"10.99.0.0/16", "10.99.255.255/16", "127.0.0.1/8", "224.0.0.1/24", "255.255.255.255/8",
                             "0.0.0.0/0", "0.0.0.1/8", "10.0.0.1/0", "::/64", "::1/128", "ff02::1/64", "fd76::1/0"}) {
        EXPECT_FALSE(usable(*parse_interface_address(text))) << text;
    }
}

TEST(InterfaceAddress, ANetworkHasNoHostBits) {
    const auto network = [](const char* text) { return to_string(network_of(*parse_interface_address(text))); };
    EXPECT_EQ(network("10.99.7.9/16"), "10.99.0.0/16");
    EXPECT_EQ(network("10.99.7.9/21"), "10.99.0.0/21");
    EXPECT_EQ(network("10.99.7.9/32"), "10.99.7.9/32");
    EXPECT_EQ(network("fd76:1:2:3:4::1/64"), "fd76:1:2:3::/64");
    EXPECT_EQ(network("fd76::ffff/124"), "fd76::fff0/124");
}

TEST(InterfaceAddress, ANetworkContainsItsOwnFamilyOnly) {
    const auto has = [](const char* own, const char* other) {
        return contains(*parse_interface_address(own), parse_interface_address(other)->gid);
    };
    EXPECT_TRUE(has("10.99.7.9/16", "10.99.255.255/32"));
    EXPECT_FALSE(has("10.99.7.9/16", "10.98.7.9/32"));
    EXPECT_TRUE(has("0.0.0.0/0", "10.98.7.9/32"));
    EXPECT_TRUE(has("fd76::1/64", "fd76::ffff/128"));
    EXPECT_FALSE(has("fd76::1/64", "fd76:0:0:1::1/128"));
    EXPECT_FALSE(has("::/0", "10.98.7.9/32"));
    EXPECT_FALSE(has("0.0.0.0/0", "fd76::1/128"));
}

}  // namespace
}  // namespace verbline::link
