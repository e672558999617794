// SPDX-License-Identifier: BSD-3-Clause
// Threads of SoftwareRss that sleep: who is woken, and that no wakeup is lost.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include "pmd/rss/software_rss.h"
#include "pmd/wakeups/wakeups.h"
#include "tests/pmd/rss/devices.h"
#include "tests/support/sanitizer.h"

namespace verbline::pmd {
namespace {

using test::marked, test::MarkHash, test::options_of, test::Shared;

bool readable(int descriptor, int timeout_ms = 0) {
    pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
    return poll(&one, 1, timeout_ms) == 1;
}

TEST(SoftwareRssSleep, SignalsSleepingOwnerOnHandover) {
    Shared shared(2, {0});
    shared.device->want_rx_event(1, true);
    const int event = shared.device->rx_event(1);
    ASSERT_FALSE(readable(event));
    shared.arrive(2);
    shared.receive(0);
    EXPECT_FALSE(readable(event)) << "that was not for it";
    shared.arrive(3);
    shared.receive(0);
    EXPECT_TRUE(readable(event));
    EXPECT_EQ(shared.counter("handover_wakeups"), 1u);

    shared.device->want_rx_event(1, false);
    EXPECT_FALSE(readable(event)) << "it is awake";
    shared.arrive(3);
    shared.receive(0);
    EXPECT_FALSE(readable(event));
    EXPECT_EQ(shared.counter("handover_wakeups"), 1u);
    shared.receive(1);
}

TEST(SoftwareRssSleep, WakesTheOwnerForTheDeviceAndForWhatItIsToTransmit) {
    Shared shared(2, {0});
    shared.device->want_rx_event(0, true);
    EXPECT_TRUE(shared.inside->queues[0].wanted);
    ASSERT_FALSE(readable(shared.device->rx_event(0)));
    shared.inside->queues[0].event.signal();
    EXPECT_TRUE(readable(shared.device->rx_event(0)));
    shared.device->want_rx_event(0, false);
    EXPECT_FALSE(shared.inside->queues[0].wanted);
    shared.inside->queues[0].event.drain();

    shared.device->want_rx_event(0, true);
    ASSERT_FALSE(readable(shared.device->rx_event(0)));
    ASSERT_TRUE(shared.send(1, 0, 5));
    EXPECT_TRUE(readable(shared.device->rx_event(0)));
    EXPECT_EQ(shared.queue_counter(1, "handover_wakeups"), 1u);
    shared.device->want_rx_event(0, false);
    shared.device->tx_burst(0, {});
    EXPECT_EQ(shared.sent(), std::vector<std::uint32_t>{5});
}

TEST(SoftwareRssSleep, OthersSleepOverADeviceWithoutEvent) {
    Shared shared(2, {0});
    shared.inside->signals = false;
    Wakeups wakeups;
    EXPECT_FALSE(wakeups.want(*shared.device, 0, 0)) << "the owner has to poll";
    EXPECT_TRUE(wakeups.want(*shared.device, 1, 1));
    shared.arrive(3);
    shared.receive(0);
    std::vector<std::uint64_t> woken;
    wakeups.wait(10 * second, [&](std::uint64_t tag) { woken.push_back(tag); });
    EXPECT_EQ(woken, std::vector<std::uint64_t>{1});
    shared.device->want_rx_event(1, false);
}

/// A device that other threads let packets arrive at, and that signals them while that is wanted.
class Source : public test::FakeNetDevice {
public:
    void arrive(test::Packet packet) {
        const std::scoped_lock lock(mutex_);
        waiting_.push_back(std::move(packet));
        if (wanted_) event_.signal();
    }
    void interrupt() { event_.signal(); }
    std::size_t came_back() const { return came_back_; }
    bool in_order() const { return in_order_; }

    std::uint16_t rx_burst(std::uint16_t, Burst burst) noexcept override {
        const std::scoped_lock lock(mutex_);
        const auto n = std::min(burst.size(), waiting_.size());
        for (auto*& packet : burst.first(n)) {
            packet = waiting_.front().release();
            waiting_.pop_front();
        }
        return static_cast<std::uint16_t>(n);
    }
    std::uint16_t tx_burst(std::uint16_t, Burst burst) noexcept override {
        for (auto* packet : burst) {
            if (MarkHash::number_of(packet) != came_back_) in_order_ = false;
            ++came_back_;
            rte_pktmbuf_free(packet);
        }
        return static_cast<std::uint16_t>(burst.size());
    }
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override {
        const std::scoped_lock lock(mutex_);
        wanted_ = wanted;
        if (!wanted) event_.drain();
    }

private:
    std::mutex mutex_;
    std::deque<test::Packet> waiting_;
    bool wanted_ = false;
    EventDescriptor event_ = EventDescriptor::make();
    std::atomic<std::size_t> came_back_{0};
    std::atomic<bool> in_order_{true};
};

/// The loop of a shard that sends back what it receives. Returns how often it slept; gives up after a sleep of 10 s.
unsigned echo(SoftwareRss& device, std::uint16_t queue, const std::atomic<bool>& stop) {
    unsigned sleeps = 0;
    const auto poll_once = [&] {
        std::array<rte_mbuf*, 32> burst;
        const auto n = device.rx_burst(queue, burst);
        const auto received = std::span(burst).first(n);
        const auto sent = device.tx_burst(queue, received);
        EXPECT_TRUE(sent == n || stop) << "there is room for all that is under way";
        for (auto* packet : received.subspan(sent)) rte_pktmbuf_free(packet);
        device.tx_burst(queue, {});
        return n > 0 || device.rx_consumed(queue);
    };
    while (!stop) {
        if (poll_once()) continue;
        device.want_rx_event(queue, true);
        if (!poll_once() && !stop) {
            ++sleeps;
            if (!readable(device.rx_event(queue), 10'000)) {
                ADD_FAILURE() << "queue " << queue << " was not woken";
                return sleeps;
            }
        }
        device.want_rx_event(queue, false);
    }
    return sleeps;
}

/// Packets arrive at queue 0's thread, go to queue 1's, and back, while either may be asleep, or about to be.
TEST(SoftwareRssSleep, NoWakeupIsLostBetweenTwoThreads) {
    const MarkHash flows;
    auto made = std::make_unique<Source>();
    auto& source = *made;
    const auto device = SoftwareRss::create(std::move(made), options_of(flows, 2, {0})).value();
    std::atomic<bool> stop{false};
    unsigned sleeps_of_owner = 0, sleeps_of_other = 0;
    std::thread owner([&] { sleeps_of_owner = echo(*device, 0, stop); });
    std::thread other([&] { sleeps_of_other = echo(*device, 1, stop); });

    std::mt19937 random(1);
    constexpr std::uint32_t count = test::thread_sanitizer ? 1'000 : 20'000;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto wait_for = [&](std::size_t packets) {
        while (source.came_back() < packets && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    };
    for (std::uint32_t number = 0; number < count;) {
        for (auto n = random() % 8 + 1; n > 0 && number < count; --n) source.arrive(marked(1, number++));
        // Mostly until both have nothing left to do; never more than the rings hold.
        wait_for(random() % 4 != 0 ? number : number - std::min<std::uint32_t>(number, 100));
    }
    wait_for(count);
    EXPECT_EQ(source.came_back(), count);
    EXPECT_TRUE(source.in_order());

    stop = true;
    source.interrupt();
    owner.join();
    // The other is woken by packets alone; queue 0 is this thread's now.
    source.arrive(marked(1, count));
    std::array<rte_mbuf*, 32> none;
    EXPECT_EQ(device->rx_burst(0, none), 0);
    other.join();
    EXPECT_GT(sleeps_of_owner, 0u);
    EXPECT_GT(sleeps_of_other, 0u);
}

}  // namespace
}  // namespace verbline::pmd
