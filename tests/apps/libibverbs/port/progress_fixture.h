// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the tests of Progress share: a link that can be looked at and stopped, a device on it, and a single CPU.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <rte_lcore.h>
#include <sched.h>

#include <gtest/gtest.h>

#include "apps/libibverbs/port/progress.h"
#include "pmd/base/clock.h"
#include "pmd/base/event_descriptor.h"
#include "tests/support/eal.h"
#include "tests/support/fake_netdev.h"

namespace verbline::verbs {

/// A link that signals, counts who looks at it, and may be stopped in the middle of a look.
class SignallingLink : public test::FakeNetDevice {
public:
    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override {
        if (stops.exchange(false)) {
            entered.release();
            leave.acquire();
        }
        ++looks;
        if (on_look) on_look();
        const std::scoped_lock lock(mutex_);
        return FakeNetDevice::rx_burst(queue, burst);
    }
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override {
        event_.drain();
        wants = wanted;
        times_wanted += wanted ? 1 : 0;
    }
    bool link_up() override {
        ++looks_after;
        if (on_link_up) on_link_up();
        return FakeNetDevice::link_up();
    }
    bool wants_link_up() const noexcept override { return urgent; }
    /// The packet's buffer does not come from the cache of lcore 0: whoever polls uses that meanwhile (lcore.h), and
    /// this thread is the EAL's main lcore, of the same number.
    void arrive() {
        const auto before = std::exchange(RTE_PER_LCORE(_lcore_id), static_cast<unsigned>(LCORE_ID_ANY));
        {
            const std::scoped_lock lock(mutex_);
            receive(std::array<std::byte, 64>{});
        }
        RTE_PER_LCORE(_lcore_id) = before;
    }
    void signal() const { event_.signal(); }

    std::atomic<unsigned> looks{0}, times_wanted{0};
    std::atomic<unsigned> looks_after{0};
    std::atomic<bool> wants{false}, stops{false}, urgent{false};
    std::function<void()> on_look;     ///< by whoever polls
    std::function<void()> on_link_up;  ///< by whoever looks after the link
    std::binary_semaphore entered{0}, leave{0};

private:
    EventDescriptor event_ = EventDescriptor::make();
    std::mutex mutex_;
};

class ProgressTest : public testing::Test {
protected:
    ProgressTest() {
        link.capabilities().max_packet = 2100;
        device = std::move(*rdma::Device::create(
            {.name = "progress", .device = &link, .pool = test::packet_pool(), .start = monotonic_now()}));
        progress.emplace(link, *device, false, true);
    }
    ~ProgressTest() override {
        if (!helper.joinable()) return;
        helper.request_stop();
        progress->wake();
        helper.join();
    }
    void start_helper() {
        helper = std::jthread([this](const std::stop_token& stop) { progress->run(stop); });
    }
    template <class Condition>
    static bool within_two_seconds(Condition condition) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::yield();
        }
        return true;
    }
    /// The program receives often enough to be left alone.
    void own() {
        for (int i = 0; i < 16; ++i) {
            link.arrive();
            progress->drive();
        }
    }
    /// The helper, which must not be started, receives right after the program has looked: what happens to programs
    /// that spin on their memory. On a busy machine it may come too late.
    void miss_a_packet() {
        std::stop_source stop;
        const auto before = received();
        std::jthread stopping([&] {
            within_two_seconds([&] { return received() != before; });
            stop.request_stop();
            progress->wake();
        });
        progress->drive();
        link.arrive();
        progress->run(stop.get_token());
    }
    bool lingers() {
        const auto before = link.looks.load();
        progress->linger();
        return link.looks.load() > before;
    }
    std::uint64_t received() const { return device->received(0); }

    SignallingLink link;
    std::unique_ptr<rdma::Device> device;
    std::optional<Progress> progress;
    std::jthread helper;
};

/// The whole process, as far as this thread and those it starts see it.
class OneCpu {
public:
    OneCpu() {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    OneCpu(const OneCpu&) = delete;
    OneCpu& operator=(const OneCpu&) = delete;
    ~OneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

private:
    cpu_set_t before_{};
};

}  // namespace verbline::verbs
