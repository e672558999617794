// SPDX-License-Identifier: BSD-3-Clause
// A poll thread, which sleeps, beside a control thread, which changes what it polls.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pmd/base/clock.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/bridge/switch.h"
#include "tests/pmd/bridge/frames.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice, test::frame, test::mac;

/// A device that wakes whoever sleeps, and is used by two threads.
class EventDevice : public FakeNetDevice {
public:
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override {
        wanted_ = wanted;
        if (!wanted) event_.drain();
    }
    std::uint16_t rx_burst(std::uint16_t, Burst burst) noexcept override {
        if (waiting_.exchange(false)) {
            burst[0] = test::make_packet(frame(test::mac(1), test::mac(0))).release();
            return 1;
        }
        return 0;
    }
    std::uint16_t tx_burst(std::uint16_t, Burst burst) noexcept override {
        rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
        done += burst.size();
        done.notify_one();
        return static_cast<std::uint16_t>(burst.size());
    }
    void arrive() {
        waiting_ = true;
        if (wanted_) event_.signal();
    }
    std::atomic<std::size_t> done{0};

private:
    EventDescriptor event_ = EventDescriptor::make();
    std::atomic<bool> wanted_{false}, waiting_{false};
};

TEST(SwitchSleep, NoFrameIsLeftLyingWhileLanesComeAndGo) {
    Switch fabric({.pool = test::packet_pool()});
    auto from = std::make_unique<EventDevice>(), to = std::make_unique<EventDevice>();
    auto &source = *from, &sink = *to;
    fabric.add_lane(std::move(from), mac(0));
    fabric.add_lane(std::move(to), mac(1));
    fabric.upkeep(0, Switch::Links::all);
    std::atomic<bool> stop{false};
    std::thread poller([&] { fabric.run(stop); });
    const auto began = monotonic_now();
    std::vector<Switch::PortId> others;
    constexpr std::size_t frames = 3000;
    for (std::size_t i = 0; i < frames; ++i) {
        if (i % 10 == 0) others.push_back(fabric.add_lane(std::make_unique<EventDevice>(), mac(100)));
        if (i % 10 == 5) fabric.remove(others.back());
        source.arrive();
        sink.done.wait(i);
    }
    // A frame that nobody was woken for would wait for the longest sleep.
    EXPECT_LT(monotonic_now() - began, 20 * second);
    EXPECT_EQ(sink.done, frames);
    stop = true;
    fabric.wake();
    poller.join();
    EXPECT_GT(fabric.counters().sleeps.value(), 0u);
}

/// A device that always has a frame for `mac(1)`.
class Talker : public FakeNetDevice {
public:
    std::uint16_t rx_burst(std::uint16_t, Burst burst) noexcept override {
        burst[0] = test::make_packet(frame(test::mac(1), test::mac(0))).release();
        return 1;
    }
};

TEST(SwitchChanges, GroupsAndNewLanesDoNotStopThePollThread) {
    Switch fabric({.pool = test::packet_pool()});
    const auto lane = fabric.add_lane(std::make_unique<Talker>(), mac(0));
    fabric.add_lane(std::make_unique<EventDevice>(), mac(1));
    fabric.upkeep(0, Switch::Links::all);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> polls{0}, idle{0};
    std::thread poller([&] {
        for (; !stop; ++polls) idle += fabric.poll() ? 0 : 1;
    });
    for (unsigned i = 0; i < 300; ++i) {
        fabric.set_group(lane, mac(i % 100, 3), i % 200 < 100);
        if (i % 10 == 0) fabric.add_lane(std::make_unique<EventDevice>(), mac(2 + i / 10));
        const auto before = polls.load();
        while (polls.load() == before) std::this_thread::yield();
    }
    stop = true;
    poller.join();
    EXPECT_EQ(idle, 0u) << "of " << polls << " polls";
}

TEST(SwitchSleep, AnIdleSwitchSleeps) {
    Switch fabric({.pool = test::packet_pool()});
    const auto sleeps = [&] {
        const auto began = monotonic_now();
        fabric.wait();
        return monotonic_now() - began > 50 * millisecond;
    };
    EXPECT_TRUE(sleeps()) << "before the first lane";
    fabric.add_lane(std::make_unique<EventDevice>(), mac(0));
    fabric.upkeep(0, Switch::Links::all);
    EXPECT_FALSE(sleeps()) << "something has changed";
    EXPECT_TRUE(sleeps());
    std::thread([&] { fabric.wake(); }).join();
    EXPECT_FALSE(sleeps());
}

}  // namespace
}  // namespace verbline::pmd
