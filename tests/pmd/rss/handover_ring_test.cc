// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/handover_ring.h"

#include <array>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/pmd/rss/devices.h"

namespace verbline::pmd {
namespace {

using test::marked, test::MarkHash;

std::uint16_t push(HandoverRing& ring, std::uint32_t number) {
    auto* packet = marked(0, number).release();
    const auto taken = ring.push({&packet, 1});
    if (taken == 0) rte_pktmbuf_free(packet);
    return taken;
}

TEST(HandoverRing, AcceptsItsCapacityInOrder) {
    auto ring = HandoverRing::create("ring", SOCKET_ID_ANY).value();
    EXPECT_TRUE(ring.empty());
    EXPECT_EQ(ring.room(), HandoverRing::capacity);
    for (std::uint32_t i = 0; i < HandoverRing::capacity; ++i) ASSERT_EQ(push(ring, i), 1);
    EXPECT_EQ(ring.room(), 0u);
    EXPECT_EQ(push(ring, 1000), 0) << "full";
    EXPECT_FALSE(ring.empty());

    std::array<rte_mbuf*, max_burst> burst;
    std::uint32_t next = 0;
    while (const auto n = ring.pop(burst)) {
        for (const auto* packet : std::span(burst).first(n)) EXPECT_EQ(MarkHash::number_of(packet), next++);
        rte_pktmbuf_free_bulk(burst.data(), n);
    }
    EXPECT_EQ(next, HandoverRing::capacity);
}

TEST(HandoverRing, TakesPartOfABurst) {
    auto ring = HandoverRing::create("ring", SOCKET_ID_ANY).value();
    while (ring.room() > 3) ASSERT_EQ(push(ring, 0), 1);
    std::array<rte_mbuf*, 5> burst;
    for (auto*& packet : burst) packet = marked(0).release();
    EXPECT_EQ(ring.push(burst), 3);
    rte_pktmbuf_free_bulk(burst.data() + 3, 2);
}

TEST(HandoverRing, FreesWhatIsLeft) {
    const auto before = rte_mempool_in_use_count(test::packet_pool());
    {
        auto ring = HandoverRing::create("ring", SOCKET_ID_ANY).value();
        for (std::uint32_t i = 0; i < 10; ++i) push(ring, i);
        EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before + 10);
    }
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before);
}

TEST(HandoverRing, CreateReportsNameInUse) {
    const auto first = HandoverRing::create("ring", SOCKET_ID_ANY);
    const auto second = HandoverRing::create("ring", SOCKET_ID_ANY);
    ASSERT_FALSE(second) << "of the same name";
    EXPECT_EQ(second.error().code, EEXIST);
    EXPECT_EQ(second.error().what, "cannot create ring ring: File exists");
}

}  // namespace
}  // namespace verbline::pmd
