// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/checksum.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "datapath/wire/ipv4.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(InternetChecksum, TheExampleOfRfc1071) {
    EXPECT_EQ(InternetChecksum().add(test::from_hex("0001 f203 f4f5 f6f7")).value(), 0xffff - 0xddf2);
}

TEST(InternetChecksum, PadsAnOddEndWithZero) {
    EXPECT_EQ(InternetChecksum().add(test::from_hex("0102 03")).value(),
              InternetChecksum().add(test::from_hex("0102 0300")).value());
}

// A neighbour solicitation of the captures: pseudo-header and message verify.
TEST(InternetChecksum, VerifiesOverAPseudoHeader) {
    const auto address = [](std::string_view hex) {
        Ipv6Address result;
        std::ranges::copy(test::from_hex(hex), result.bytes.begin());
        return result;
    };
    const auto source = address("fe80000000000000505400fffe0e0001"),
               target = address("ff0200000000000000000001ff0e0002");
    const auto message = test::from_hex("87008b6200000000fe80000000000000505400fffe0e000201015254000e0001");
    EXPECT_EQ(InternetChecksum().add_pseudo_header(source, target, 58, message.size()).add(message).value(), 0);
}

// A TCP SYN of the captures.
TEST(InternetChecksum, VerifiesTcpOverIpv4) {
    const auto segment =
        test::from_hex("a3c64853082f6d8900000000a002faf014cb0000020405b40402080a35da6a240000000001030307");
    const auto sum = InternetChecksum()
                         .add_pseudo_header(ipv4(10, 77, 0, 2), ipv4(10, 77, 0, 1), 6, segment.size())
                         .add(segment)
                         .value();
    // The sender left it to its device: what stands there is the sum of the pseudo-header alone.
    const auto pseudo =
        InternetChecksum().add_pseudo_header(ipv4(10, 77, 0, 2), ipv4(10, 77, 0, 1), 6, segment.size()).value();
    EXPECT_NE(sum, 0);
    EXPECT_EQ(static_cast<std::uint16_t>(~pseudo), 0x14cb);
}

TEST(UpdatedChecksum, EqualsTheSumAnew) {
    auto header = Ipv4{.time_to_live = 64, .protocol = IpProtocol::udp, .source = ipv4(10, 0, 0, 1)}.with_checksum();
    for (int ttl = 64; ttl-- > 0;) {
        const auto before = static_cast<std::uint16_t>(header.time_to_live << 8 | 17);
        header.time_to_live = static_cast<std::uint8_t>(ttl);
        header.checksum = updated_checksum(header.checksum, before, static_cast<std::uint16_t>(ttl << 8 | 17));
        ASSERT_EQ(header, header.with_checksum()) << ttl;
    }
}

}  // namespace
}  // namespace verbline::wire
