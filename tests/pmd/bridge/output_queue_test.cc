// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/output_queue.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

struct OutputQueueTest : ::testing::Test {
    std::size_t send(unsigned mark) {
        auto* packet = test::make_packet(test::pattern(60, mark)).release();
        return queue.send(device, 0, std::span(&packet, 1));
    }
    test::FakeNetDevice device;
    Counter packets, bytes;
    OutputQueue queue{3, {.packets = &packets, .bytes = &bytes}};
};

TEST_F(OutputQueueTest, KeepsOrderAndTheLimit) {
    device.tx_room = 1;
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(send(i), 0u) << i;
    EXPECT_EQ(send(4), 1u) << "one sent, three waiting";
    EXPECT_FALSE(queue.flush(device, 0));
    device.tx_room = 2;
    EXPECT_EQ(send(5), 0u) << "two go, one waits, and this one behind it";
    device.tx_room = 10;
    EXPECT_TRUE(queue.flush(device, 0));
    EXPECT_TRUE(queue.empty());
    ASSERT_EQ(device.sent.size(), 5u);
    const std::array order{0u, 1u, 2u, 3u, 5u};
    for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(test::bytes_of(device.sent[i]), test::pattern(60, order[i]));
}

TEST_F(OutputQueueTest, CountsWhatTheDeviceHasTaken) {
    device.tx_room = 1;
    for (unsigned i = 0; i < 3; ++i) send(i);
    EXPECT_EQ(packets.value(), 1u);
    EXPECT_EQ(bytes.value(), 60u);
    EXPECT_EQ(queue.size(), 2u);
    device.tx_room = 10;
    queue.flush(device, 0);
    EXPECT_EQ(packets.value(), 3u);
    EXPECT_EQ(bytes.value(), 180u);
}

TEST_F(OutputQueueTest, ALowerLimitKeepsWhatWaits) {
    device.tx_room = 0;
    for (unsigned i = 0; i < 3; ++i) send(i);
    queue.set_limit(1);
    EXPECT_EQ(send(3), 1u);
    device.tx_room = 10;
    queue.flush(device, 0);
    EXPECT_EQ(device.sent.size(), 3u);
}

TEST_F(OutputQueueTest, FreesWhatWaitsWhenItGoes) {
    device.tx_room = 0;
    send(0);  // or the check of the pool at the end of all tests fails
}

}  // namespace
}  // namespace verbline::pmd
