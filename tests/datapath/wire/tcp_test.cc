// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/tcp.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Tcp, ReadsACapturedSyn) {
    const auto bytes =
        test::from_hex("a3c64853082f6d8900000000a002faf014cb0000020405b40402080a35da6a240000000001030307");
    const auto tcp = Tcp::parse(bytes);
    ASSERT_TRUE(tcp);
    EXPECT_EQ(*tcp, (Tcp{.source_port = 0xa3c6,
                         .destination_port = 0x4853,
                         .sequence = 0x082f6d89,
                         .header_words = 10,
                         .flags = tcp_flag::syn,
                         .window = 0xfaf0,
                         .checksum = 0x14cb}));
    EXPECT_EQ(emitted(*tcp), test::to_hex(Bytes(bytes).first(20)));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        EXPECT_EQ(Tcp::parse(Bytes(bytes).first(n)).error(), Malformed::truncated) << n;
    }
}

TEST(Tcp, GoldenOfTheRarerFields) {
    expect_golden("00010002 00000003 89abcdef 51ff0004 00050006", Tcp{.source_port = 1,
                                                                      .destination_port = 2,
                                                                      .sequence = 3,
                                                                      .acknowledgement = 0x89abcdef,
                                                                      .reserved = 1,
                                                                      .flags = 0xff,
                                                                      .window = 4,
                                                                      .checksum = 5,
                                                                      .urgent = 6});
}

TEST(Tcp, RefusesAnOffsetBelowItsHeader) {
    EXPECT_EQ(Tcp::parse(test::from_hex("00010002 00000003 00000004 40100005 00000000")).error(), Malformed::length);
}

}  // namespace
}  // namespace verbline::wire
