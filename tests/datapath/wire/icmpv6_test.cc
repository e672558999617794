// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icmpv6.h"

#include <string>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

constexpr MacAddress link_address{
    {std::byte{0x52}, std::byte{0x54}, std::byte{0}, std::byte{0x0e}, std::byte{0}, std::byte{1}}};
const auto link_local = *from_string<Ipv6Address>("fe80::5054:ff:fe0e:2");

TEST(Icmpv6, GoldenOfARouterSolicitation) {
    expect_golden("8500da65 00000000", Icmpv6{.type = icmpv6_type::router_solicitation, .checksum = 0xda65});
}

TEST(NeighbourMessage, GoldenOfASolicitation) {
    expect_golden(
        "87008b62 00000000 fe80000000000000505400fffe0e0002",
        NeighbourMessage{.type = icmpv6_type::neighbour_solicitation, .checksum = 0x8b62, .target = link_local});
}

TEST(NeighbourMessage, GoldenOfAnAdvertisement) {
    expect_golden("8800d990 60000000 fe80000000000000505400fffe0e0002",
                  NeighbourMessage{.type = icmpv6_type::neighbour_advertisement,
                                   .checksum = 0xd990,
                                   .solicited = true,
                                   .override_cached = true,
                                   .target = link_local});
}

TEST(NeighbourMessage, IsNoOtherMessage) {
    auto bytes = test::from_hex(emitted(NeighbourMessage{}));
    for (const unsigned type : {0u, 133u, 134u, 137u, 255u}) {
        bytes[0] = static_cast<std::byte>(type);
        EXPECT_EQ(NeighbourMessage::parse(bytes).error(), Malformed::version);
    }
}

TEST(RouterAdvertisement, Golden) {
    expect_golden("8600abcd 40c00708 00007530 000003e8", RouterAdvertisement{.checksum = 0xabcd,
                                                                             .hop_limit = 64,
                                                                             .managed = true,
                                                                             .other_configuration = true,
                                                                             .lifetime = 1800,
                                                                             .reachable = 30000,
                                                                             .retransmit = 1000});
}

TEST(NdRedirect, Golden) {
    expect_golden(
        "8900abcd 00000000 fe80000000000000505400fffe0e0002 20010db8000000000000000000000001",
        NdRedirect{.checksum = 0xabcd, .target = link_local, .destination = *from_string<Ipv6Address>("2001:db8::1")});
}

TEST(NdLinkAddress, GoldenOnEthernet) {
    expect_golden("01 01 5254000e0001",
                  NdLinkAddress<MacAddress>{.type = nd_option::source_link_address, .address = link_address});
}

TEST(NdLinkAddress, GoldenOnInfinibandHasTwoBytesOfPadding) {
    const IpoibAddress address{.qpn = Qpn{0x404}, .gid = Gid::of(default_subnet_prefix, Guid{0x10'0003})};
    static_assert(NdLinkAddress<IpoibAddress>::size == 24);
    expect_golden("02 03 0000 00000404 fe80000000000000 0000000000100003",
                  NdLinkAddress<IpoibAddress>{.type = nd_option::target_link_address, .address = address});
}

TEST(NdLinkAddress, RefusesTheOtherLength) {
    const auto short_one = test::from_hex("0201" + std::string(44, '0'));
    EXPECT_EQ(NdLinkAddress<IpoibAddress>::parse(short_one).error(), Malformed::length);
}

TEST(NdMtu, Golden) {
    expect_golden("05 01 0000 000007fc", NdMtu{.mtu = 2044});
}

TEST(NdNonce, Golden) {
    expect_golden("0e 01 a1b2c3d4e5f6", NdNonce{.nonce = 0xa1b2c3d4e5f6});
}

TEST(NdPrefix, Golden) {
    expect_golden("03 04 40 c0 00015180 00003840 00000000 20010db8000000000000000000000000",
                  NdPrefix{.length = 64,
                           .on_link = true,
                           .autonomous = true,
                           .valid = 86400,
                           .preferred = 14400,
                           .prefix = *from_string<Ipv6Address>("2001:db8::")});
}

TEST(NdOptions, WalksFromOneToTheNext) {
    const auto bytes = test::from_hex("0101 5254000e0001 0501 0000 000007fc");
    NdOptions options(bytes);
    auto option = options.next();
    ASSERT_TRUE(option && *option);
    EXPECT_EQ((*option)->type, nd_option::source_link_address);
    EXPECT_EQ(NdLinkAddress<MacAddress>::parse((*option)->bytes)->address, link_address);
    option = options.next();
    ASSERT_TRUE(option && *option);
    EXPECT_EQ(NdMtu::parse((*option)->bytes)->mtu, 2044u);
    option = options.next();
    ASSERT_TRUE(option);
    EXPECT_FALSE(*option) << "the end";
}

TEST(NdOptions, StopsAtALengthOfZero) {
    const auto bytes = test::from_hex("0100 5254000e0001");
    EXPECT_EQ(NdOptions(bytes).next().error(), Malformed::length);
}

TEST(NdOptions, StopsAtALengthBeyondTheEnd) {
    const auto bytes = test::from_hex("0102 5254000e0001");
    EXPECT_EQ(NdOptions(bytes).next().error(), Malformed::truncated);
    EXPECT_EQ(NdOptions(Bytes(bytes).first(1)).next().error(), Malformed::truncated);
}

}  // namespace
}  // namespace verbline::wire
