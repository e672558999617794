// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/locked_transmit.h"

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pmd/rss/devices.h"

namespace verbline::pmd {
namespace {

using test::marked, test::MarkHash, test::QueuedDevice;
using ::testing::ElementsAre;

struct Locked {
    explicit Locked(std::uint16_t queues, std::uint16_t inside_queues = 1)
        : Locked(queues, std::make_unique<QueuedDevice>(1, inside_queues)) {}
    Locked(std::uint16_t queues, std::unique_ptr<QueuedDevice> made) : inside(*made) {
        device = LockedTransmit::create(std::move(made), queues).value();
    }

    bool send(std::uint16_t queue, std::uint32_t number) { return test::send(*device, queue, number); }
    std::vector<std::uint32_t> sent(std::uint16_t queue = 0) {
        std::vector<std::uint32_t> numbers;
        for (const auto& packet : inside.queues[queue].sent) numbers.push_back(MarkHash::number_of(packet.get()));
        return numbers;
    }

    QueuedDevice& inside;
    std::unique_ptr<LockedTransmit> device;
};

TEST(LockedTransmit, HasTheQueuesThatAreAskedForAndSharesThoseOfTheDevice) {
    Locked locked(5, 2);
    EXPECT_EQ(locked.device->capabilities().tx_queues, 5);
    EXPECT_EQ(locked.device->capabilities().rx_queues, 1);
    for (std::uint16_t queue = 0; queue < 5; ++queue) ASSERT_TRUE(locked.send(queue, queue));
    EXPECT_THAT(locked.sent(0), ElementsAre(0, 2, 4));
    EXPECT_THAT(locked.sent(1), ElementsAre(1, 3));
}

TEST(LockedTransmit, WhatTheDeviceRefusesStaysTheSenders) {
    Locked locked(2);
    locked.inside.queues[0].tx_room = 1;
    EXPECT_TRUE(locked.send(1, 7));
    EXPECT_FALSE(locked.send(0, 8));
    EXPECT_THAT(locked.sent(), ElementsAre(7));
    EXPECT_EQ(test::counter(*locked.device, "tx_lock_waits"), 0u);
}

TEST(LockedTransmit, WithoutAQueueThereIsNothingToShare) {
    EXPECT_FALSE(LockedTransmit::create(std::make_unique<QueuedDevice>(1, 0), 2));
    EXPECT_FALSE(LockedTransmit::create(std::make_unique<QueuedDevice>(1, 1), 0));
}

/// Says when a thread is inside, and keeps it there.
class SlowDevice : public QueuedDevice {
public:
    SlowDevice() : QueuedDevice(1, 1) {}
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override {
        EXPECT_EQ(inside.fetch_add(1), 0) << "two threads at a time";
        if (during) during();
        const auto sent = QueuedDevice::tx_burst(queue, burst);
        inside.fetch_sub(1);
        return sent;
    }
    std::atomic<int> inside{0};
    std::function<void()> during;
};

TEST(LockedTransmit, ABurstOfNothingDoesNotWait) {
    auto made = std::make_unique<SlowDevice>();
    auto& slow = *made;
    Locked locked(2, std::move(made));
    slow.during = [&] { EXPECT_EQ(locked.device->tx_burst(1, {}), 0); };
    EXPECT_TRUE(locked.send(0, 1));
    EXPECT_THAT(locked.sent(), ElementsAre(1));
}

TEST(LockedTransmit, AThreadWaitsForTheOtherAndIsCounted) {
    auto made = std::make_unique<SlowDevice>();
    auto& slow = *made;
    Locked locked(2, std::move(made));
    // The second comes while the first is inside; that it has found the lock taken cannot be seen, so there are rounds.
    for (int round = 0; round < 1'000 && test::counter(*locked.device, "tx_lock_waits") == 0; ++round) {
        std::latch inside(1), coming(1);
        std::atomic<bool> first_time{true};
        slow.during = [&] {
            if (!first_time.exchange(false)) return;
            inside.count_down();
            coming.wait();
            std::this_thread::yield();
        };
        std::jthread first([&] { locked.send(0, 1); });
        std::jthread second([&] {
            inside.wait();
            coming.count_down();
            locked.send(1, 2);
        });
    }
    EXPECT_EQ(test::counter(*locked.device, "tx_lock_waits"), 1u);
    auto sent = locked.sent();
    ASSERT_GE(sent.size(), 2u);
    EXPECT_THAT(std::span(sent).last(2), ElementsAre(1, 2));
}

TEST(LockedTransmit, ManyThreadsLoseNothingAndKeepTheirOrder) {
    constexpr std::uint32_t threads = 3, each = 2'000;
    Locked locked(threads, std::make_unique<SlowDevice>());
    {
        std::vector<std::jthread> senders;
        for (std::uint32_t i = 0; i < threads; ++i) {
            senders.emplace_back([&locked, i] {
                for (std::uint32_t n = 0; n < each; ++n) locked.send(static_cast<std::uint16_t>(i), i << 16 | n);
            });
        }
    }
    std::vector<std::uint32_t> next(threads, 0);
    for (const auto number : locked.sent()) EXPECT_EQ(number & 0xffff, next[number >> 16]++);
    EXPECT_THAT(next, ::testing::Each(each));
}

}  // namespace
}  // namespace verbline::pmd
