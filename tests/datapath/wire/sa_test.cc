// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/sa.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Rmpp, GoldenWhenNotInUse) {
    expect_golden("00 00 f8 00 00000000 00000000", Rmpp{});
}

TEST(Rmpp, GoldenOfAFirstSegment) {
    expect_golden("01 01 13 00 00000001 00000168", Rmpp{.version = 1,
                                                        .type = RmppType::data,
                                                        .response_time = 2,
                                                        .flags = rmpp_flag::active | rmpp_flag::first,
                                                        .segment = 1,
                                                        .length = 360});
}

// From OpenSM's answer to a PathRecord query.
TEST(SaHeader, Golden) {
    expect_golden(
        "0000000000000000 0008 0000 000000000000180c",
        SaHeader{.attribute_words = 8, .components = component(2) | component(3) | component(11) | component(12)});
}

TEST(SaHeader, BeginsWhereTheRmppHeaderEndsAndEndsWhereTheDataBegins) {
    static_assert(rmpp_offset == Mad::size);
    static_assert(sa_header_offset == rmpp_offset + Rmpp::size);
    static_assert(sa_data_offset == sa_header_offset + SaHeader::size);
    static_assert(sa_data_offset + sa_data_size == mad_size);
}

TEST(IbMtu, IsAPowerOfTwo) {
    EXPECT_EQ(mtu_bytes(IbMtu::bytes_256), 256u);
    EXPECT_EQ(mtu_bytes(IbMtu::bytes_2048), 2048u);
    EXPECT_EQ(mtu_bytes(IbMtu::bytes_4096), 4096u);
    EXPECT_EQ(mtu_bytes(IbMtu{0}), 0u);
    EXPECT_EQ(mtu_bytes(IbMtu{6}), 0u);
    EXPECT_EQ(mtu_bytes(IbMtu{63}), 0u);
}

TEST(Sa, DecodesRates) {
    EXPECT_EQ(rate_gbps(2), 2.5);
    EXPECT_EQ(rate_gbps(3), 10);
    EXPECT_EQ(rate_gbps(7), 40);
    EXPECT_EQ(rate_gbps(16), 100);
    EXPECT_EQ(rate_gbps(22), 600);
    for (const int reserved : {0, 1, 23, 63, 255}) EXPECT_EQ(rate_gbps(static_cast<std::uint8_t>(reserved)), 0);
}

}  // namespace
}  // namespace verbline::wire
