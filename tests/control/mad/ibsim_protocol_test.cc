// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/ibsim_protocol.h"

#include <gtest/gtest.h>

namespace verbline::mad::ibsim {
namespace {

Datagram example() {
    Datagram d{.dlid = wire::Lid{0x0102}, .slid = wire::Lid{0x0304}, .dqpn = wire::Qpn{1}, .sqpn = wire::Qpn{0x1000}};
    for (std::size_t i = 0; i < d.mad.size(); ++i) d.mad[i] = static_cast<std::byte>(i ^ 0xa5);
    return d;
}

TEST(IbsimDatagram, ReadsWhatItWrites) {
    const auto bytes = example().bytes();
    const auto back = Datagram::parse(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->bytes(), bytes);
    EXPECT_EQ(back->dlid, wire::Lid{0x0102});
    EXPECT_EQ(back->sqpn, wire::Qpn{0x1000});
    EXPECT_EQ(back->mad, example().mad);
}

TEST(IbsimDatagram, WhatAShortMadLeavesOutReadsAsZero) {
    auto bytes = example().bytes();
    wire::store64(bytes, 24, 112);
    const auto back = Datagram::parse(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->mad[111], example().mad[111]);
    for (std::size_t i = 112; i < back->mad.size(); ++i) EXPECT_EQ(back->mad[i], std::byte{0}) << i;
    EXPECT_TRUE(Datagram::parse(std::span(bytes).first(32 + 60))) << "cut short by the sender: zeros, too";
}

TEST(IbsimDatagram, LengthsThatNoMadHasAreRefused) {
    auto bytes = example().bytes();
    for (std::size_t n = 0; n < 32 + 24; ++n) EXPECT_FALSE(Datagram::parse(std::span(bytes).first(n))) << n;
    for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{23}, std::uint64_t{257}, ~std::uint64_t{0}}) {
        wire::store64(bytes, 24, length);
        EXPECT_FALSE(Datagram::parse(bytes)) << length;
    }
    std::array<std::byte, Datagram::size + 1> longer{};
    wire::store64(longer, 24, 256);
    EXPECT_FALSE(Datagram::parse(longer));
}

}  // namespace
}  // namespace verbline::mad::ibsim
