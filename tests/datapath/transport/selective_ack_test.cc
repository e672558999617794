// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/selective_ack.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

std::vector<std::uint32_t> bits_of(wire::Bytes map) {
    std::vector<std::uint32_t> bits;
    SelectiveAck::visit(map, [&](std::uint32_t bit) { bits.push_back(bit); });
    return bits;
}

TEST(SelectiveAck, IsNothingWhenNothingIsKept) {
    EXPECT_TRUE(SelectiveAck{}.bytes().empty());
}

TEST(SelectiveAck, GrowsByEightBytes) {
    SelectiveAck map;
    map.set(0);
    EXPECT_EQ(map.bytes().size(), 8u);
    map.set(63);
    EXPECT_EQ(map.bytes().size(), 8u);
    map.set(64);
    EXPECT_EQ(map.bytes().size(), 16u);
    map.set(3);
    EXPECT_EQ(map.bytes().size(), 16u);
    map.set(ReorderWindow::size - 1);
    EXPECT_EQ(map.bytes().size(), SelectiveAck::max_size);
}

TEST(SelectiveAck, LaysBitsAsDocumented) {
    SelectiveAck map;
    map.set(0), map.set(9);
    EXPECT_EQ(map.bytes()[0], std::byte{0x01});
    EXPECT_EQ(map.bytes()[1], std::byte{0x02});
}

TEST(SelectiveAck, IsVisitedInOrder) {
    SelectiveAck map;
    const std::vector<std::uint32_t> bits{0, 7, 8, 63, 64, 500, 1023};
    for (auto bit = bits.rbegin(); bit != bits.rend(); ++bit) map.set(*bit);
    EXPECT_EQ(bits_of(map.bytes()), bits);
}

TEST(SelectiveAck, EndsWhereTheLargestEnds) {
    const std::vector<std::byte> larger(SelectiveAck::max_size + 64, std::byte{0xff});
    EXPECT_EQ(bits_of(larger).size(), ReorderWindow::size);
    EXPECT_EQ(bits_of(larger).back(), ReorderWindow::size - 1);
}

}  // namespace
}  // namespace verbline::transport
