// SPDX-License-Identifier: BSD-3-Clause
// Requests that are kept while an earlier one is missing: how many, how long, and who comes first.
#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"
#include "tests/support/packet.h"

namespace verbline::rdma {
namespace {

class KeptRequests : public test::TwoEnds {
protected:
    static constexpr std::uint32_t packets = 20;

    /// A WRITE of which the first packet is lost, and every packet that is sent again while `peer_is_gone`.
    void lose_the_first() {
        host_b.port().setup().in.drop_if = [this, n = 0u](const rte_mbuf&) mutable {
            return n++ == 0 || (n > packets && peer_is_gone);
        };
        test::fill(std::span(a.data).first(bytes));
        ASSERT_TRUE(post(a, to(b, 0, Operation::write), 0, bytes));
        world.run_for(100 * microsecond);
        ASSERT_EQ(host_b.counter("out_of_sequence"), packets - 1);
    }
    void expect_complete() {
        ASSERT_TRUE(complete(1));
        EXPECT_EQ(at_a[0].status, Status::success);
        EXPECT_TRUE(equal(a, 0, b, 0, bytes));
    }

    static constexpr std::uint32_t bytes = packets * 1024;
    bool peer_is_gone = true;
    const unsigned in_use = rte_mempool_in_use_count(test::packet_pool());
};

TEST_F(KeptRequests, AreGivenUpWhenTheMissingOneDoesNotCome) {
    connect();
    lose_the_first();
    EXPECT_GE(rte_mempool_in_use_count(test::packet_pool()), in_use + packets - 1);
    world.run_for(900 * millisecond);
    EXPECT_EQ(host_b.counter("rx_dropped_reorder_expired"), 0u);
    world.run_for(200 * millisecond);
    EXPECT_EQ(host_b.counter("rx_dropped_reorder_expired"), packets - 1);
    // A sender keeps some at hand, to send the next packets with.
    EXPECT_LE(rte_mempool_in_use_count(test::packet_pool()), in_use + 2 * 32);
}

TEST_F(KeptRequests, AreSentAgainOnceGivenUp) {
    connect(transport::QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 0, .max_reads = 4}});
    lose_the_first();
    world.run_for(2 * second);
    EXPECT_EQ(host_b.counter("rx_dropped_reorder_expired"), packets - 1);
    peer_is_gone = false;
    expect_complete();
}

TEST_F(KeptRequests, GiveWayToReceivingWhenThePoolIsEmpty) {
    connect();
    lose_the_first();
    std::vector<test::Packet> hoard;
    while (auto* packet = rte_pktmbuf_alloc(test::packet_pool())) hoard.emplace_back(packet);
    world.run_for(microsecond);
    EXPECT_EQ(host_b.counter("rx_dropped_reorder_evicted"), packets - 1);
    auto* const packet = rte_pktmbuf_alloc(test::packet_pool());
    EXPECT_NE(packet, nullptr) << "for what is received next";
    rte_pktmbuf_free(packet);
    hoard.clear();
    peer_is_gone = false;
    expect_complete();
}

/// Whatever was asked for: half of a small pool is left for what comes and goes.
TEST(KeptBudget, IsHalfOfThePoolAtMost) {
    constexpr unsigned size = 511;
    auto* const pool = rte_pktmbuf_pool_create("kept", size, 0, 0, test::Eal::data_room, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    {
        sim::World world{sim::Seed{1}, *pool};
        auto &host_a = world.add_host(), &host_b = world.add_host();
        test::End a(host_a), b(host_b);
        a.make(transport::QueuePairType::rc), b.make(transport::QueuePairType::rc);
        test::connect(world, a, b, {.mtu = 256});
        const auto write = [&] {
            const auto segment = a.segment(0, 1 << 16);
            EXPECT_TRUE(a.pair->post({.segments = {&segment, 1},
                                      .operation = transport::SendOperation::write,
                                      .flags = transport::send_signalled,
                                      .remote_address = b.address(0),
                                      .rkey = b.region->rkey()}));
        };
        std::size_t done = 0;
        const auto complete = [&](std::size_t count) {
            return world.run_until([&] { return (done += a.poll().size()) >= count; });
        };
        for (int i = 0; i < 4; ++i) write();
        ASSERT_TRUE(complete(4)) << "and as much may be under way from now on as goes";

        bool gone = true;
        std::optional<std::uint32_t> missing;
        host_b.port().setup().in.drop_if = [&](const rte_mbuf& frame) {
            constexpr std::size_t psn_at = 14 + 20 + 8 + 8;  // the last word of the BTH
            const auto psn = wire::load32(test::bytes_of(&frame), psn_at) & 0xff'ffff;
            if (!missing) missing = psn;
            return gone && psn == *missing;
        };
        for (int i = 0; i < 4; ++i) write();
        world.run_for(microsecond);
        EXPECT_GE(rte_mempool_avail_count(pool), size / 2 - 2 * 32 - pmd::max_burst);
        EXPECT_GT(host_b.counter("rx_dropped_reorder_full"), 0u);
        gone = false;
        EXPECT_TRUE(complete(8));
    }
    EXPECT_EQ(rte_mempool_full(pool), 1);
    rte_mempool_free(pool);
}

}  // namespace
}  // namespace verbline::rdma
