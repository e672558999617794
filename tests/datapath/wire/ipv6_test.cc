// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ipv6.h"

#include <string>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Ipv6, Golden) {
    expect_golden("60000000 0418 11 40 fe80000000000000505400fffe0e0002 fe80000000000000505400fffe0e0001",
                  Ipv6{.payload_length = 0x418,
                       .next_header = IpProtocol::udp,
                       .hop_limit = 64,
                       .source = *from_string<Ipv6Address>("fe80::5054:ff:fe0e:2"),
                       .destination = *from_string<Ipv6Address>("fe80::5054:ff:fe0e:1")});
}

TEST(Ipv6, GoldenOfClassAndFlow) {
    expect_golden("6b9abcde 0000 3a ff" + std::string(64, '0'), Ipv6{.dscp = 46,
                                                                     .ecn = Ecn::capable_1,
                                                                     .flow_label = 0xabcde,
                                                                     .next_header = IpProtocol::icmpv6,
                                                                     .hop_limit = 255});
}

TEST(Ipv6, RefusesAPayloadLengthBeyondThePacket) {
    const auto bytes = test::from_hex(emitted(Ipv6{.payload_length = 8}) + "0011223344556677");
    EXPECT_TRUE(Ipv6::parse(bytes));
    EXPECT_EQ(Ipv6::parse(Bytes(bytes).first(47)).error(), Malformed::truncated);
    EXPECT_TRUE(Ipv6::parse(Bytes(bytes).first(40), 48)) << "the rest is in other buffers";
}

TEST(Ipv6, RefusesOtherVersions) {
    auto bytes = test::from_hex(emitted(Ipv6{}));
    bytes[0] = std::byte{0x45};
    EXPECT_EQ(Ipv6::parse(bytes).error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire
