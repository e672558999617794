// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/text.h"

#include <string>

#include <gtest/gtest.h>

namespace verbline::wire {
namespace {

template <class Value>
void expect_both_ways(const Value& value, const std::string& text) {
    EXPECT_EQ(to_string(value), text);
    EXPECT_EQ(from_string<Value>(text), value);
}

template <class Value>
void expect_refused(std::initializer_list<const char*> texts) {
    for (const auto* text : texts) EXPECT_FALSE(from_string<Value>(text)) << '"' << text << '"';
}

TEST(Text, Ipv4Address) {
    expect_both_ways(ipv4(10, 1, 0, 255), "10.1.0.255");
    expect_both_ways(ipv4(0, 0, 0, 0), "0.0.0.0");
    expect_both_ways(ipv4(255, 255, 255, 255), "255.255.255.255");
    expect_refused<Ipv4Address>({"", "10", "10.1", "10.1.0", "10.1.0.", ".1.0.1", "10..0.1", "10.1.0.1.", "10.1.0.1.2",
                                 "256.1.0.1", "10.1.0.300", "10.1.0.-1", "10.1.0.1 ", " 10.1.0.1", "10.1.0.x",
                                 "0x0a.1.0.1", "10.1.0.1/24", "10.1.0.0001"});
}

TEST(Text, Ipv4Prefix) {
    expect_both_ways(Ipv4Prefix{ipv4(10, 1, 0, 1), 24}, "10.1.0.1/24");
    expect_both_ways(Ipv4Prefix{ipv4(0, 0, 0, 0), 0}, "0.0.0.0/0");
    expect_both_ways(Ipv4Prefix{ipv4(10, 1, 0, 1), 32}, "10.1.0.1/32");
    expect_refused<Ipv4Prefix>({"", "10.1.0.1", "10.1.0.1/", "10.1.0.1/33", "10.1.0.1/-1", "10.1.0.1/24/",
                                "10.1.0.1/24 ", "10.1.0/24", "/24", "10.1.0.1/255.255.255.0", "10.1.0.1/0x8"});
}

TEST(Text, Ipv6Prefix) {
    const auto address = *from_string<Ipv6Address>("fd76:1::1");
    expect_both_ways(Ipv6Prefix{address, 64}, "fd76:1::1/64");
    expect_both_ways(Ipv6Prefix{{}, 0}, "::/0");
    expect_both_ways(Ipv6Prefix{address, 128}, "fd76:1::1/128");
    expect_refused<Ipv6Prefix>(
        {"", "fd76::1", "fd76::1/", "fd76::1/129", "fd76::1/-1", "fd76::1/64/", "/64", "10.1.0.1/24", "fd76::1/64 "});
}

TEST(Text, Ipv6AddressAndGid) {
    const auto address = from_string<Ipv6Address>("fe80::2:c903:0:1");
    ASSERT_TRUE(address);
    EXPECT_EQ(to_string(*address), "fe80::2:c903:0:1");
    expect_both_ways(Gid::of(default_subnet_prefix, Guid{0x0002'c903'0000'0001}), "fe80::2:c903:0:1");
    expect_refused<Gid>(
        {"", "fe80", "fe80:::1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "fe80::g", "fe80::1%ib0", " fe80::1"});
    EXPECT_FALSE(from_string<Gid>(std::string_view("fe80::1\0", 8)));
}

TEST(Text, MacAddress) {
    constexpr MacAddress mac{{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xab}, std::byte{4}}};
    expect_both_ways(mac, "02:00:00:00:ab:04");
    EXPECT_EQ(from_string<MacAddress>("02:00:00:00:AB:04"), mac);
    expect_refused<MacAddress>({"", "02:00:00:00:ab", "02:00:00:00:ab:04:", "02:00:00:00:ab:4", "02-00-00-00-ab-04",
                                "02:00:00:00:ab:0g", "02:00:00:00:ab:-4", "020000:00:ab:04"});
}

TEST(Text, IpoibAddress) {
    expect_both_ways(
        IpoibAddress{.flags = 0x80, .qpn = Qpn{0x404}, .gid = Gid::of(default_subnet_prefix, Guid{0x10'0003})},
        "80:00:04:04:fe:80:00:00:00:00:00:00:00:00:00:00:00:10:00:03");
    expect_refused<IpoibAddress>({"", "80:00:04:04", "02:00:00:00:ab:04"});
}

TEST(Text, Numbers) {
    expect_both_ways(Guid{0x0002'c903'0000'0001}, "0x0002c90300000001");
    expect_both_ways(Lid{4}, "4");
    expect_both_ways(Lid{0xbfff}, "49151");
    expect_both_ways(Lid{0xc000}, "0xc000");
    expect_both_ways(PKey{0x8001}, "0x8001");
    expect_both_ways(PKey{1}, "0x0001");
    EXPECT_EQ(from_string<Lid>("0x4"), Lid{4});
    EXPECT_EQ(from_string<PKey>("65535"), PKey{0xffff});
    expect_refused<Lid>({"", "0x", "65536", "0x10000", "-1", "4 ", " 4", "4a", "0x4g", "+4"});
    expect_refused<Guid>({"", "0x10002c90300000001f", "fe80::1"});
}

TEST(Text, Malformed) {
    EXPECT_EQ(to_string(Malformed::truncated), "truncated");
    EXPECT_EQ(to_string(Malformed::checksum), "checksum");
}

}  // namespace
}  // namespace verbline::wire
