// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A decorator that simulates a bad link: loss, duplication, reordering, corruption, delay.
///
/// Packets delayed on transmit leave in later calls of `tx_burst`, for which an empty burst is enough.

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "pmd/decorator.h"
#include "pmd/impair/lane.h"

namespace verbline::pmd {

class ImpairedDevice : public Decorator {
public:
    using Clock = std::function<Time()>;

    ImpairedDevice(std::shared_ptr<NetDevice> device, const ImpairSpec& spec, Clock clock);
    ~ImpairedDevice() override;

    // Control thread.

    /// Replaces the impairments from the next bursts on; packets that are held leave when they were to.
    void set(const ImpairSpec& spec);
    /// Whether every queue has followed the last `set`, and holds no packet.
    bool settled() const noexcept;

    /// Drops all delayed packets.
    void down() override;
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    bool rx_consumed(std::uint16_t queue) const noexcept override;
    /// Accepts packets while there is room to hold them, and sends those that are due.
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// -1 if packets are delayed, or still held: no descriptor becomes readable when they are due.
    int rx_event(std::uint16_t queue) const noexcept override;
    /// The inner device's, then its own as `rx_impair_...` and `tx_impair_...`.
    void counters(const CounterVisitor& visit) const override;

private:
    /// What `set` was last called with. Queues follow at their next burst.
    struct Current {
        ImpairSpec spec;
        bool holds;  ///< some packets are delayed
    };
    struct Way;
    struct Receiver;
    struct Transmitter;

    void follow(Way& way, Impairments ImpairSpec::* direction) noexcept;

    Clock clock_;
    std::deque<Current> specs_;  ///< the last is in use; others, while a queue may be reading them
    std::atomic<const Current*> current_ = nullptr;
    std::vector<std::unique_ptr<Receiver>> receivers_;  ///< by queue
    std::vector<std::unique_ptr<Transmitter>> transmitters_;
};

}  // namespace verbline::pmd
