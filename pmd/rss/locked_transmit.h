// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Transmission by many threads over a device with few transmit queues, for programs whose threads cannot be relied on:
/// a lock for each queue of the device.
///
///     thread 0: tx_burst(0) ──┬── lock ──> the device's queue 0
///     thread 1: tx_burst(1) ──┘
///
/// SoftwareRss shares a queue without a lock, since each thread of a router polls all the time: what others have for
/// the queue is sent by the thread that owns it. A thread of any DPDK program calls `tx_burst` when it has something to
/// send, and perhaps never again; then nobody would send what waits for it.
///
/// A packet of one queue never passes another of it. The lock is held for one burst of the device, and a burst of
/// nothing (netdev.h says what it is for) does not wait for it. Where threads have CPUs of their own, waiting is short;
/// where they have not, the thread that waits yields.
///
/// Threads: one for each queue, as of any device. Reception is the device's.

#include <cstdint>
#include <memory>
#include <vector>

#include "pmd/base/counter.h"
#include "pmd/decorator.h"

namespace verbline::pmd {

#define VERBLINE_LOCKED_TRANSMIT_COUNTERS(X) \
    X(tx_lock_waits, "bursts that waited because another thread was sending on the same queue of the device")

struct LockedTransmitCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_LOCKED_TRANSMIT_COUNTERS)
};

class LockedTransmit : public Decorator {
public:
    /// A device of `queues` transmit queues, over one that has at least one. EINVAL if it has none.
    static Result<std::unique_ptr<LockedTransmit>> create(std::unique_ptr<NetDevice> device, std::uint16_t queues);
    ~LockedTransmit() override;

    const Capabilities& capabilities() const override { return capabilities_; }
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t send(std::uint16_t queue, std::span<const Datagram> burst) noexcept override;
    /// Those of the device behind its own.
    void counters(const CounterVisitor& visit) const override;

private:
    struct Lane;

    LockedTransmit(std::unique_ptr<NetDevice> device, std::uint16_t queues);
    template <class Packets, class Send>
    std::uint16_t locked(std::uint16_t queue, Packets packets, Send send) noexcept;

    Capabilities capabilities_;
    std::vector<std::unique_ptr<Lane>> lanes_;  ///< by queue of the device inside
};

}  // namespace verbline::pmd
