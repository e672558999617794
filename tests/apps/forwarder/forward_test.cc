// SPDX-License-Identifier: BSD-3-Clause
#include "apps/forwarder/forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datapath/link/offload_cases.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::forwarder {
namespace {

struct Forward : testing::Test {
    test::FakeNetDevice left{"left"}, right{"right"};
    FrameLink from{left, 0, *test::packet_pool()}, to{right, 0, *test::packet_pool()};
};

TEST_F(Forward, FramesGoOutAsTheyCameIn) {
    for (unsigned i = 0; i < 3; ++i) left.receive(test::pattern(64 + 500 * i, i));
    EXPECT_TRUE(forward(from, to));
    EXPECT_FALSE(forward(from, to));
    ASSERT_EQ(right.sent.size(), 3u);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(test::bytes_of(right.sent[i]), test::pattern(64 + 500 * i, i));
    EXPECT_EQ(test::counter(from, "rx_packets"), 3u);
    EXPECT_EQ(test::counter(to, "tx_packets"), 3u);
}

TEST_F(Forward, AFrameWithoutAWholeHeaderIsCounted) {
    left.receive(test::pattern(13));
    EXPECT_TRUE(forward(from, to));
    EXPECT_TRUE(right.sent.empty());
    EXPECT_EQ(test::counter(from, "rx_dropped_malformed"), 1u);
}

TEST_F(Forward, WorkThatTheKernelLeftIsDoneAndATagStays) {
    const auto header = test::pattern(18, 9);  // Ethernet and 802.1Q
    for (const auto& sent : link::offload_cases()) {
        SCOPED_TRACE(sent.name);
        auto frame = sent.packet();
        std::memcpy(rte_pktmbuf_prepend(frame.get(), 18), header.data(), header.size());
        frame->l2_len = 18;
        left.to_receive.push_back(std::move(frame));
        right.sent.clear();
        forward(from, to);
        std::vector<test::ByteVector> packets;
        for (const auto& out : right.sent) {
            const auto bytes = test::bytes_of(out);
            EXPECT_TRUE(std::ranges::equal(std::span(bytes).first(18), header));
            packets.emplace_back(bytes.begin() + 18, bytes.end());
        }
        link::expect_work_done(sent, packets);
    }
}

TEST_F(Forward, LosslessInputIsNotPolledWhileOutputIsCongested) {
    left.capabilities().lossless_rx = true;
    right.tx_room = 0;
    left.receive(test::pattern(64));
    EXPECT_TRUE(forward(from, to));
    left.receive(test::pattern(65));
    EXPECT_TRUE(forward(from, to));
    EXPECT_EQ(left.to_receive.size(), 1u);
    right.tx_room = 2;
    EXPECT_TRUE(forward(from, to));
    EXPECT_EQ(right.sent.size(), 2u);
}

}  // namespace
}  // namespace verbline::forwarder
