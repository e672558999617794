// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The queues of a device, each presented as a device of one queue: for users that know no queues, such as ports of a
/// switch, each of which one thread polls.
///
///     port 0 ── DeviceQueue 0 ──┐
///                               ├── the device
///     port 1 ── DeviceQueue 1 ──┘

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pmd/netdev.h"

namespace verbline::pmd {

/// The device belongs to all of its queues, and goes with the last. The first speaks for the device: it takes it up and
/// down, sets its filters, asks for its link and has its counters. Threads: as for any device; of different queues
/// different threads make the bursts, which the device must allow for its queues.
class DeviceQueue final : public NetDevice {
public:
    /// One for each receive queue, of which the device has no more than it has to send; the device itself, if it has
    /// one.
    static std::vector<std::unique_ptr<NetDevice>> split(std::unique_ptr<NetDevice> device) {
        std::vector<std::unique_ptr<NetDevice>> made;
        const auto queues = device->capabilities().rx_queues;
        if (queues == 1) {
            made.push_back(std::move(device));
            return made;
        }
        const auto shared = std::make_shared<Shared>(std::move(device));
        for (std::uint16_t i = 0; i < queues; ++i) made.emplace_back(new DeviceQueue(shared, i));
        return made;
    }

    /// The device's name; of all but the first with the number of the queue.
    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override { return device().mac(); }
    int numa_socket() const override { return device().numa_socket(); }
    bool segments() const noexcept override { return device().segments(); }

    Result<void> up() override { return is_first() ? device().up() : Result<void>(); }
    void down() override {
        if (is_first()) device().down();
    }
    /// Of all but the first: what the first has found last.
    bool link_up() override {
        if (is_first()) shared_->link = device().link_up();
        return shared_->link;
    }
    bool wants_link_up() const noexcept override { return is_first() && device().wants_link_up(); }

    std::uint16_t rx_burst(std::uint16_t, Burst burst) noexcept override { return device().rx_burst(queue_, burst); }
    bool rx_consumed(std::uint16_t) const noexcept override { return device().rx_consumed(queue_); }
    std::uint16_t tx_burst(std::uint16_t, Burst burst) noexcept override { return device().tx_burst(queue_, burst); }
    int rx_event(std::uint16_t) const noexcept override { return device().rx_event(queue_); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override { device().want_rx_event(queue_, wanted); }

    std::error_code set_identity(const Identity& identity) override {
        return is_first() ? device().set_identity(identity) : unsupported();
    }
    std::error_code attach_multicast(const MulticastAddress& group) override {
        return is_first() ? device().attach_multicast(group) : unsupported();
    }
    std::error_code detach_multicast(const MulticastAddress& group) override {
        return is_first() ? device().detach_multicast(group) : unsupported();
    }
    std::error_code receive_all_multicast(bool all) override {
        return is_first() ? device().receive_all_multicast(all) : unsupported();
    }

    void counters(const CounterVisitor& visit) const override {
        if (is_first()) device().counters(visit);
    }

private:
    struct Shared {
        explicit Shared(std::unique_ptr<NetDevice> of) : device(std::move(of)) {}
        std::unique_ptr<NetDevice> device;
        bool link = false;  ///< the control thread's
    };

    DeviceQueue(std::shared_ptr<Shared> shared, std::uint16_t queue)
        : shared_(std::move(shared)), queue_(queue), name_(device().name()), capabilities_(device().capabilities()) {
        if (queue > 0) name_ += fmt::format(" queue {}", queue);
        capabilities_.rx_queues = capabilities_.tx_queues = 1;
    }

    bool is_first() const { return queue_ == 0; }
    NetDevice& device() const { return *shared_->device; }

    std::shared_ptr<Shared> shared_;
    std::uint16_t queue_;
    std::string name_;
    Capabilities capabilities_;
};

}  // namespace verbline::pmd
