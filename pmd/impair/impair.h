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

#include "pmd/impair/lane.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

class ImpairedDevice : public NetDevice {
public:
    using Clock = std::function<Time()>;

    ImpairedDevice(std::unique_ptr<NetDevice> inner, const ImpairSpec& spec, Clock clock);
    ~ImpairedDevice() override;

    std::string_view name() const override { return inner_->name(); }
    const Capabilities& capabilities() const override { return inner_->capabilities(); }
    std::optional<wire::MacAddress> mac() const override { return inner_->mac(); }
    std::optional<RssTable> rss() const override { return inner_->rss(); }
    Result<void> up() override { return inner_->up(); }
    void down() override { inner_->down(); }
    bool link_up() override { return inner_->link_up(); }
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// Takes every packet while it can hold them; those due go to the device.
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// None where packets are held back: when they are due, no descriptor tells.
    int rx_event(std::uint16_t queue) const noexcept override { return holds_ ? -1 : inner_->rx_event(queue); }
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override { inner_->want_rx_event(queue, wanted); }
    std::error_code set_identity(const Identity& identity) override { return inner_->set_identity(identity); }
    std::error_code attach_multicast(const MulticastAddress& group) override { return inner_->attach_multicast(group); }
    std::error_code detach_multicast(const MulticastAddress& group) override { return inner_->detach_multicast(group); }
    /// The device's, then ours as rx_impair_... and tx_impair_...
    void counters(const CounterVisitor& visit) const override;

private:
    struct Transmitter;

    std::unique_ptr<NetDevice> inner_;
    Clock clock_;
    bool holds_;                                          ///< some packets, for some time
    std::vector<std::unique_ptr<ImpairLane>> receivers_;  ///< by queue
    std::vector<std::unique_ptr<Transmitter>> transmitters_;
};

}  // namespace verbline::pmd
