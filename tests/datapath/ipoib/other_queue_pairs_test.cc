// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/other_queue_pairs.h"

#include <array>
#include <span>

#include <gtest/gtest.h>

#include "tests/support/fake_netdev.h"

namespace verbline::ipoib {
namespace {

TEST(OtherQueuePairs, SendByTheDeviceThatIsSetAndKeepWhatHasCome) {
    test::FakeNetDevice first("port"), instead("port");
    OtherQueuePairs others(first, 0);
    const auto send = [&] {
        auto* packet = test::make_packet(test::pattern(60)).release();
        ASSERT_EQ(others.tx_burst(0, std::span(&packet, 1)), 1u);
    };
    ASSERT_TRUE(others.put(test::make_packet(test::pattern(70)).release()));
    send();
    others.set_device(instead);
    send();
    EXPECT_EQ(first.sent.size(), 1u);
    EXPECT_EQ(instead.sent.size(), 1u);
    std::array<rte_mbuf*, pmd::max_burst> burst;
    ASSERT_EQ(others.rx_burst(0, burst), 1u);
    EXPECT_EQ(burst[0]->pkt_len, 70u);
    rte_pktmbuf_free(burst[0]);
}

}  // namespace
}  // namespace verbline::ipoib
