// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/packet_pools.h"

#include <array>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

/// Pools that nobody looks into.
rte_mempool* pool(std::size_t number) {
    static std::array<char, 3> pools;
    return reinterpret_cast<rte_mempool*>(&pools[number]);
}

TEST(PacketPools, OneServesEveryQueue) {
    const PacketPools pools = pool(2);
    for (std::size_t queue = 0; queue < 5; ++queue) EXPECT_EQ(pools[queue], pool(2));
}

TEST(PacketPools, EachQueueTakesFromItsThreadsPool) {
    const PacketPools pools({pool(0), pool(1), pool(0)});
    EXPECT_EQ(pools[0], pool(0));
    EXPECT_EQ(pools[1], pool(1));
    EXPECT_EQ(pools[3], pools[0]) << "thread 0 polls the fourth queue, too";
}

TEST(PacketPools, TheFirstQueueMayBeAnyThreads) {
    const auto pools = PacketPools({pool(0), pool(1), pool(2)}).beginning_with(1);
    EXPECT_EQ(pools[0], pool(1));
    EXPECT_EQ(pools[1], pool(2));
    EXPECT_EQ(pools[2], pool(0));
}

}  // namespace
}  // namespace verbline::pmd
