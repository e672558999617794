// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A shard of one Ethernet port, and devices that end its waits.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include <rte_rcu_qsbr.h>

#include <gtest/gtest.h>

#include "datapath/router/shard.h"
#include "pmd/base/event_descriptor.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::test {

/// A device that signals arrivals while that is wanted. One thread receives, another lets packets arrive.
class EventDevice : public FakeNetDevice {
public:
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool is_wanted) noexcept override {
        wanted = is_wanted;
        if (!is_wanted) event_.drain();
    }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        if (!waiting_.exchange(false)) return 0;
        burst[0] = make_packet(pattern(60)).release();
        return 1;
    }
    void arrive() {
        waiting_ = true;
        if (wanted) event_.signal();
    }
    std::atomic<bool> wanted{false};

private:
    EventDescriptor event_ = EventDescriptor::make();
    std::atomic<bool> waiting_{false};
};

struct WaitingShard {
    explicit WaitingShard(pmd::NetDevice& link) {
        rte_rcu_qsbr_init(readers.get(), 1);
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        kernel.capabilities().carries = pmd::Carries::ip;
        shard.emplace(router::ShardSetup{.ports = {{.name = "port", .device = &link, .kernel = &kernel}},
                                         .fib = fib.get(),
                                         .readers = readers.get(),
                                         .pool = packet_pool(),
                                         .commands = &commands,
                                         .events = &events,
                                         .wake_control = &control,
                                         .wake = &signal});
    }

    void command(const router::Command& one) {
        ASSERT_TRUE(commands.push(one));
        signal.wake_up();
    }
    std::uint64_t counter(std::string_view wanted) const {
        std::uint64_t found = 0;
        shard->counters([&](std::string_view, std::string_view name, std::uint64_t value, std::string_view) {
            if (name == wanted) found += value;
        });
        return found;
    }

    struct Free {
        void operator()(rte_rcu_qsbr* readers) const { std::free(readers); }
    };
    std::unique_ptr<rte_rcu_qsbr, Free> readers{
        static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, rte_rcu_qsbr_get_memsize(1)))};
    std::unique_ptr<forward::Fib> fib;
    EventDevice kernel;
    router::Ring<router::Command> commands = std::move(*router::Ring<router::Command>::create("commands", 256));
    router::Ring<router::Event> events = std::move(*router::Ring<router::Event>::create("events", 256));
    EventDescriptor control = EventDescriptor::make();
    pmd::WakeSignal signal;
    std::optional<router::Shard> shard;
};

}  // namespace verbline::test
