// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Base of devices that wrap another device: forwards every operation of the contract to it. A decorator overrides
/// those that it changes.

#include <memory>
#include <utility>

#include "pmd/netdev.h"

namespace verbline::pmd {

/// Owns the inner device, with other decorators of it if there are any. Threads: as for any NetDevice; has no state of
/// its own.
class Decorator : public NetDevice {
public:
    std::string_view name() const override { return inner_->name(); }
    const Capabilities& capabilities() const override { return inner_->capabilities(); }
    std::optional<wire::MacAddress> mac() const override { return inner_->mac(); }
    std::optional<DatagramEnd> datagram_end() const override { return inner_->datagram_end(); }
    int numa_socket() const override { return inner_->numa_socket(); }
    std::optional<RssTable> rss() const override { return inner_->rss(); }
    bool segments() const noexcept override { return inner_->segments(); }

    Result<void> up() override { return inner_->up(); }
    void down() override { inner_->down(); }
    bool link_up() override { return inner_->link_up(); }
    bool wants_link_up() const noexcept override { return inner_->wants_link_up(); }

    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override {
        return inner_->rx_burst(queue, burst);
    }
    bool rx_consumed(std::uint16_t queue) const noexcept override { return inner_->rx_consumed(queue); }
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override {
        return inner_->tx_burst(queue, burst);
    }
    int rx_event(std::uint16_t queue) const noexcept override { return inner_->rx_event(queue); }
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override { inner_->want_rx_event(queue, wanted); }

    std::error_code set_identity(const Identity& identity) override { return inner_->set_identity(identity); }
    std::error_code attach_multicast(const MulticastAddress& group) override { return inner_->attach_multicast(group); }
    std::error_code detach_multicast(const MulticastAddress& group) override { return inner_->detach_multicast(group); }
    std::error_code receive_all_multicast(bool all) override { return inner_->receive_all_multicast(all); }
    std::uint16_t send(std::uint16_t queue, std::span<const Datagram> burst) noexcept override {
        return inner_->send(queue, burst);
    }

    void counters(const CounterVisitor& visit) const override { inner_->counters(visit); }
    void queue_counters(std::uint16_t queue, const CounterVisitor& visit) const override {
        inner_->queue_counters(queue, visit);
    }

protected:
    explicit Decorator(std::shared_ptr<NetDevice> inner) : inner_(std::move(inner)) {}

    NetDevice& inner() { return *inner_; }
    const NetDevice& inner() const { return *inner_; }

private:
    std::shared_ptr<NetDevice> inner_;
};

}  // namespace verbline::pmd
