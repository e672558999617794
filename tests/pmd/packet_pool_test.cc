// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/packet_pool.h"

#include <array>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/eal.h"

namespace verbline::pmd {
namespace {

constexpr std::size_t page = 4096;

struct PacketPoolTest : ::testing::TestWithParam<BufferLayout> {
    /// Where in its page each of the pool's buffers begins.
    static std::set<std::size_t> offsets(rte_mempool* pool) {
        std::array<rte_mbuf*, 64> packets;
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool, packets.data(), packets.size()), 0);
        std::set<std::size_t> found;
        for (const auto* packet : packets) found.insert(reinterpret_cast<std::uintptr_t>(packet) % page);
        rte_pktmbuf_free_bulk(packets.data(), packets.size());
        return found;
    }

    const int eal = (test::packet_pool(), 0);
    const std::unique_ptr<rte_mempool, decltype([](rte_mempool* pool) { rte_mempool_free(pool); })> pool{
        make_packet_pool("packet_pool_test", 255, 0, RTE_PKTMBUF_HEADROOM + 2304, SOCKET_ID_ANY, GetParam())};
};

TEST_P(PacketPoolTest, HasBuffersAsAskedFor) {
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(rte_mempool_avail_count(pool.get()), 255u);
    auto* const packet = rte_pktmbuf_alloc(pool.get());
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(rte_pktmbuf_headroom(packet), RTE_PKTMBUF_HEADROOM);
    EXPECT_EQ(rte_pktmbuf_tailroom(packet), 2304);
    EXPECT_EQ(packet->pool, pool.get());
    rte_pktmbuf_free(packet);
}

TEST_P(PacketPoolTest, WithoutHugepagesThePackedOnesAreSpreadOverTheCaches) {
    if (rte_eal_has_hugepages() != 0) GTEST_SKIP() << "DPDK runs with hugepages";
    const auto places = offsets(pool.get());
    if (GetParam() == BufferLayout::packed) {
        EXPECT_GT(places.size(), 16u);
    } else {
        EXPECT_LE(places.size(), 4u) << "else the packed ones are needless";
    }
}

INSTANTIATE_TEST_SUITE_P(, PacketPoolTest, ::testing::Values(BufferLayout::packed, BufferLayout::whole_pages),
                         [](const auto& info) {
                             return info.param == BufferLayout::packed ? "packed" : "whole_pages";
                         });

TEST(PacketPool, OfATakenNameIsNone) {
    test::packet_pool();
    const auto make = [] {
        return make_packet_pool("taken", 63, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, BufferLayout::packed);
    };
    auto* const first = make();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(make(), nullptr);
    rte_mempool_free(first);
}

}  // namespace
}  // namespace verbline::pmd
