// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/congestion/cnp.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "datapath/wire/icrc.h"
#include "tests/support/hex.h"

namespace verbline::congestion {
namespace {

using test::from_hex;
using test::to_hex;

TEST(Cnp, IsWhatAConnectXSends) {
    std::array<std::byte, cnp_size> cnp;
    cnp.fill(std::byte{0xee});
    emit_cnp(cnp, wire::Qpn{0x118}, wire::PKey{0xffff});
    EXPECT_EQ(to_hex(cnp), "8100ffff4000011800000000" + std::string(32, '0'));
    auto packet = from_hex("45c2003c718c4000401191610a0011010a001201 000012b700280000");
    packet.insert(packet.end(), cnp.begin(), cnp.end());
    packet.resize(packet.size() + wire::icrc_size);
    ASSERT_EQ(packet.size(), 60u);
    EXPECT_TRUE(wire::write_icrc(wire::IcrcOver::ipv4, packet));
    EXPECT_EQ(to_hex(std::span(packet).last(wire::icrc_size)), "82fd002a");
}

TEST(Cnp, OneInAnInterval) {
    CnpLimiter limiter;
    EXPECT_TRUE(limiter.mark(-second)) << "the first at once, whatever the clock says";
    EXPECT_FALSE(limiter.mark(-second));
    EXPECT_FALSE(limiter.mark(-second + 50 * microsecond - 1));
    EXPECT_TRUE(limiter.mark(-second + 50 * microsecond));
    EXPECT_FALSE(limiter.mark(-second + 99 * microsecond));
    EXPECT_TRUE(limiter.mark(second));
}

TEST(Cnp, TheIntervalIsTheCallers) {
    CnpLimiter limiter;
    EXPECT_TRUE(limiter.mark(0, 4 * microsecond));
    EXPECT_TRUE(limiter.mark(4 * microsecond, 4 * microsecond));
}

}  // namespace
}  // namespace verbline::congestion
