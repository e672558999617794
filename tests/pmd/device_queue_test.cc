// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/device_queue.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

/// Notes by which queue each call came.
class Queues : public test::FakeNetDevice {
public:
    explicit Queues(std::uint16_t count) { capabilities().rx_queues = capabilities().tx_queues = count; }
    std::uint16_t rx_burst(std::uint16_t queue, Burst) noexcept override { return received = queue, 0; }
    std::uint16_t tx_burst(std::uint16_t queue, Burst) noexcept override { return transmitted = queue, 0; }
    int rx_event(std::uint16_t queue) const noexcept override { return 100 + queue; }
    void want_rx_event(std::uint16_t queue, bool) noexcept override { wanted = queue; }
    bool link_up() override { return ++looks, link; }

    int received = -1, transmitted = -1, wanted = -1, looks = 0;
};

struct DeviceQueues : ::testing::Test {
    void open(std::uint16_t count) {
        auto made = std::make_unique<Queues>(count);
        device = made.get();
        queues = DeviceQueue::split(std::move(made));
    }
    Queues* device = nullptr;
    std::vector<std::unique_ptr<NetDevice>> queues;
};

TEST_F(DeviceQueues, ADeviceOfOneStaysAsItIs) {
    open(1);
    ASSERT_EQ(queues.size(), 1u);
    EXPECT_EQ(queues[0].get(), device);
}

TEST_F(DeviceQueues, EachUsesItsOwn) {
    open(3);
    ASSERT_EQ(queues.size(), 3u);
    for (int i = 0; i < 3; ++i) {
        auto& queue = *queues[static_cast<unsigned>(i)];
        queue.rx_burst(0, {});
        queue.tx_burst(0, {});
        queue.want_rx_event(0, true);
        EXPECT_EQ((std::array{device->received, device->transmitted, device->wanted}), (std::array{i, i, i}));
        EXPECT_EQ(queue.rx_event(0), 100 + i);
        EXPECT_EQ(queue.capabilities().rx_queues, 1u);
        EXPECT_EQ(queue.capabilities().tx_queues, 1u);
    }
    EXPECT_EQ(std::string(queues[0]->name()), "fake");
    EXPECT_EQ(std::string(queues[2]->name()), "fake queue 2");
}

TEST_F(DeviceQueues, TheFirstSpeaksForTheDevice) {
    open(2);
    ASSERT_TRUE(queues[1]->up());
    EXPECT_FALSE(device->is_up);
    ASSERT_TRUE(queues[0]->up());
    EXPECT_TRUE(device->is_up);
    EXPECT_TRUE(queues[0]->link_up());
    EXPECT_TRUE(queues[1]->link_up());
    EXPECT_EQ(device->looks, 1) << "a look may take a system call";
    EXPECT_TRUE(queues[1]->attach_multicast({}));
    EXPECT_FALSE(queues[0]->attach_multicast({}));
    EXPECT_EQ(device->groups.size(), 1u);
    EXPECT_EQ(test::counter(*queues[0], "fake_counter"), 1u);
    std::size_t counters = 0;
    queues[1]->counters([&](auto, auto, auto) { ++counters; });
    EXPECT_EQ(counters, 0u) << "or sums had them twice";
    queues[1]->down();
    EXPECT_TRUE(device->is_up);
    queues[0]->down();
    EXPECT_FALSE(device->is_up);
}

TEST_F(DeviceQueues, TheDeviceGoesWithTheLast) {
    open(2);
    queues.erase(queues.begin());
    queues[0]->tx_burst(0, {});
    EXPECT_EQ(device->transmitted, 1);
}

}  // namespace
}  // namespace verbline::pmd
