// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ipoib_connected.h"

#include <gtest/gtest.h>

#include "tests/support/hex.h"

namespace verbline::wire {
namespace {

/// As the kernel's ipoib_cm.c has it: two words in network order.
TEST(IpoibConnected, HasTheKernelsLayout) {
    std::array<std::byte, IpoibConnected::size> bytes{};
    const IpoibConnected data{.qpn = Qpn{0x48}, .mtu = 65'524};
    data.emit(bytes);
    EXPECT_EQ(test::to_hex(bytes), "000000480000fff4");
    EXPECT_EQ(IpoibConnected::parse(bytes), data);
}

TEST(IpoibConnected, IsReadOfLongerPrivateData) {
    std::array<std::byte, 92> bytes{};
    IpoibConnected{.qpn = Qpn{0xabcdef}, .mtu = 2048}.emit(std::span(bytes).first<IpoibConnected::size>());
    EXPECT_EQ(IpoibConnected::parse(bytes)->qpn, Qpn{0xabcdef});
    EXPECT_FALSE(IpoibConnected::parse(std::span(bytes).first(7)));
}

TEST(IpoibConnected, NamesTheServiceByTheQueuePair) {
    EXPECT_EQ(ipoib_connected_service(Qpn{0x48}), CmServiceId{0x1000000000000048});
}

}  // namespace
}  // namespace verbline::wire
