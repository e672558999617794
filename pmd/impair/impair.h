// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Any device with a bad link in front of it.
///
/// Packets held back on transmit leave during later calls of `tx_burst`, which may be given an empty burst for that.

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "pmd/decorator.h"
#include "pmd/impair/lane.h"

namespace verbline::pmd {

class ImpairedDevice : public Decorator {
public:
    using Clock = std::function<Time()>;

    ImpairedDevice(std::unique_ptr<NetDevice> device, const ImpairSpec& spec, Clock clock);
    ~ImpairedDevice() override;

    /// What is held back goes no further.
    void down() override;
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// Takes every packet while it can hold them; those due go to the device.
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// None where packets are held back: when they are due, no descriptor tells.
    int rx_event(std::uint16_t queue) const noexcept override { return holds_ ? -1 : inner().rx_event(queue); }
    /// The device's, then ours as rx_impair_... and tx_impair_...
    void counters(const CounterVisitor& visit) const override;

private:
    struct Transmitter;

    Clock clock_;
    bool holds_;                                          ///< some packets, for some time
    std::vector<std::unique_ptr<ImpairLane>> receivers_;  ///< by queue
    std::vector<std::unique_ptr<Transmitter>> transmitters_;
};

}  // namespace verbline::pmd
