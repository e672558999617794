// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/router_discovery.h"

#include <gtest/gtest.h>

#include "datapath/neighbour/discovery.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "tests/datapath/neighbour/link.h"
#include "tests/support/hex.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::neighbour {
namespace {

using test::ByteVector, test::ipv6;
using wire::IpoibAddress, wire::MacAddress;

const IpoibAddress router_ipoib{.qpn = wire::Qpn{0x48}, .gid = gid("fe80::2:c903:0:1")};

Advertisement advertisement(const LinkAddress& at) {
    return {.source = ipv6("fe80::1"),
            .at = at,
            .mtu = 1500,
            .prefixes = {{.prefix = {ipv6("fd76:1::"), 64}}, {.prefix = {ipv6("fd76:7::"), 96}, .autonomous = false}}};
}

/// The whole packet, byte for byte (RFC 4861, 4.2, 4.6.1, 4.6.4, 4.6.2); the checksum is checked below.
TEST(RouterDiscovery, WritesAnAdvertisement) {
    auto packet = write_advertisement(advertisement(us));
    wire::store16(packet, wire::Ipv6::size + 2, 0);
    EXPECT_EQ(packet,
              test::from_hex("60000000 0060 3a ff fe800000000000000000000000000001 ff020000000000000000000000000001"
                             "86 00 0000 40 00 0708 00000000 00000000"
                             "01 01 020000000001"
                             "05 01 0000 000005dc"
                             "03 04 40 c0 00278d00 00093a80 00000000 fd760001000000000000000000000000"
                             "03 04 60 80 00278d00 00093a80 00000000 fd760007000000000000000000000000"));
}

TEST(RouterDiscovery, WritesTheLinkLayerAddressOfIpoibWithItsPadding) {
    const auto packet = write_advertisement(advertisement(router_ipoib));
    const auto option = wire::Bytes(packet).subspan(wire::Ipv6::size + wire::RouterAdvertisement::size);
    const auto link = wire::NdLinkAddress<IpoibAddress>::parse(option);  // checks the length, 3, and the padding
    ASSERT_TRUE(link);
    EXPECT_EQ(link->type, wire::nd_option::source_link_address);
    EXPECT_EQ(link->address, router_ipoib);
    EXPECT_EQ(wire::NdMtu::parse(option.subspan(24))->mtu, 1500u);
}

TEST(RouterDiscovery, HasTheRightChecksum) {
    for (const LinkAddress& at : {LinkAddress(us), LinkAddress(router_ipoib)}) {
        const auto packet = write_advertisement(advertisement(at));
        EXPECT_TRUE(genuine_discovery(*wire::Ipv6::parse(packet), wire::Bytes(packet).subspan(wire::Ipv6::size)));
    }
}

TEST(RouterDiscovery, FitsAPacketThatEveryLinkCarries) {
    auto many = advertisement(router_ipoib);
    many.prefixes.resize(100, many.prefixes[0]);
    EXPECT_LE(write_advertisement(many).size(), 1280u);
    EXPECT_GT(write_advertisement(many).size(), 1280u - wire::NdPrefix::size);
}

/// From `source`, with `options`.
ByteVector solicitation(const wire::Ipv6Address& source, const ByteVector& options, std::uint8_t type = 133) {
    ByteVector packet(wire::Ipv6::size + wire::Icmpv6::size);
    packet[wire::Ipv6::size] = static_cast<std::byte>(type);
    packet.insert(packet.end(), options.begin(), options.end());
    finish_discovery(packet, source, ipv6("ff02::2"));
    return packet;
}

TEST(RouterDiscovery, ReadsSolicitations) {
    const auto link = test::from_hex("01 01 020000000002"), unknown = test::from_hex("0e 01 000000000000");
    EXPECT_EQ(read_solicitation<MacAddress>(solicitation(ipv6("fe80::2"), link)), Solicitation::valid);
    EXPECT_EQ(read_solicitation<MacAddress>(solicitation(ipv6("fe80::2"), {})), Solicitation::valid);
    EXPECT_EQ(read_solicitation<MacAddress>(solicitation(ipv6("fe80::2"), unknown)), Solicitation::valid);
    EXPECT_EQ(read_solicitation<MacAddress>(solicitation({}, {})), Solicitation::valid);
    EXPECT_EQ(read_solicitation<IpoibAddress>(solicitation(ipv6("fe80::2"), {})), Solicitation::valid);
    EXPECT_EQ(read_solicitation<MacAddress>(solicitation(ipv6("fe80::2"), link, 135)), Solicitation::none);
    EXPECT_EQ(read_solicitation<MacAddress>(ByteVector(3)), Solicitation::none);
}

/// RFC 4861, 6.1.1.
TEST(RouterDiscovery, RefusesSolicitationsThatBreakTheRules) {
    const auto link = test::from_hex("01 01 020000000002");
    const auto good = solicitation(ipv6("fe80::2"), link);
    const auto refused = [](const ByteVector& packet) {
        return read_solicitation<MacAddress>(packet) == Solicitation::malformed;
    };
    EXPECT_TRUE(refused(solicitation({}, link))) << "an address without a source";
    EXPECT_TRUE(refused(solicitation(ipv6("fe80::2"), test::from_hex("01 00 020000000002")))) << "length 0";
    EXPECT_TRUE(refused(solicitation(ipv6("fe80::2"), test::from_hex("01 02 020000000002")))) << "too long";
    EXPECT_EQ(read_solicitation<IpoibAddress>(good), Solicitation::malformed) << "of another kind of link";
    for (const std::size_t at : {std::size_t{7}, std::size_t{8 + 15}, wire::Ipv6::size + 1, wire::Ipv6::size + 2}) {
        auto bad = good;
        bad[at] ^= std::byte{1};  // hop limit, source, code, checksum
        EXPECT_TRUE(refused(bad)) << at;
    }
}

}  // namespace
}  // namespace verbline::neighbour
