// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A shard of one Ethernet port, and devices that end its waits.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "datapath/router/shard.h"
#include "pmd/base/event_descriptor.h"
#include "tests/datapath/router/shard_counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/fib_readers.h"
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
    std::uint64_t counter(std::string_view wanted) const { return router::shard_counter(*shard, wanted); }

    FibReaders readers = fib_readers();
    std::unique_ptr<forward::Fib> fib;
    EventDevice kernel;
    router::Ring<router::Command> commands = std::move(*router::Ring<router::Command>::create("commands", 256));
    router::Ring<router::Event> events = std::move(*router::Ring<router::Event>::create("events", 256));
    EventDescriptor control = EventDescriptor::make();
    pmd::WakeSignal signal;
    std::optional<router::Shard> shard;
};

}  // namespace verbline::test
