// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What an end does that polls in vain. With CPUs to spare it polls on, and yields now and then. Where others compute
/// on its CPU it blocks until a packet arrives, as programs under `verbline run` do: the scheduler runs a woken thread
/// soon, and one that spins after all others.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>

#include <poll.h>

#include "pmd/base/clock.h"
#include "pmd/base/cpu_contention.h"
#include "pmd/netdev.h"

namespace verbline::rdma_bench {

/// Used by the thread that polls queue 0 of the device.
class IdleWait {
public:
    /// `device` outlives it.
    explicit IdleWait(pmd::NetDevice& device) : device_(device) {}

    /// Around each poll. `again` polls once more and returns whether there was work; `deadline` is that of the next
    /// timer.
    template <class Again, class Deadline>
    void polled(bool worked, Time now, Again again, Deadline deadline) noexcept {
        if (last_ != 0) contention_.went_on(static_cast<std::uint64_t>(now), static_cast<std::uint64_t>(now - last_));
        last_ = now;
        if (worked) {
            rounds_ = 0;
            return;
        }
        ++rounds_;
        if (contention_.contended(static_cast<std::uint64_t>(now))) {
            if (rounds_ >= before_block) block(now, again, deadline);
        } else if (rounds_ >= before_yield && rounds_ % between_yields == 0) {
            std::this_thread::yield();
        }
    }

private:
    static constexpr std::uint32_t before_block = 8, before_yield = 256, between_yields = 64;
    static constexpr Time longest_block = millisecond;  ///< a signal, and the link's upkeep, are not to wait

    template <class Again, class Deadline>
    void block(Time now, Again again, Deadline deadline) noexcept {
        device_.want_rx_event(0, true);
        pollfd event{.fd = device_.rx_event(0), .events = POLLIN, .revents = 0};
        if (event.fd >= 0 && !again()) {
            const auto until = std::min(deadline().value_or(now + longest_block), now + longest_block);
            const timespec span{.tv_sec = 0, .tv_nsec = std::max<Time>(until - now, 0)};
            ::ppoll(&event, 1, &span, nullptr);
        }
        device_.want_rx_event(0, false);
        last_ = 0;  // this absence was its own
    }

    pmd::NetDevice& device_;
    pmd::CpuContention contention_{
        {.time_slice = 200 * microsecond, .shortest_hold = 100 * millisecond, .longest_hold = 1600 * millisecond}};
    std::uint32_t rounds_ = 0;
    Time last_ = 0;
};

}  // namespace verbline::rdma_bench
