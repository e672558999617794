// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One VLAN of a trunk, as a device whose frames have no tag.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pmd/base/event_descriptor.h"
#include "pmd/vlan/trunk.h"

namespace verbline::pmd::vlan {

#define VERBLINE_VLAN_PORT_COUNTERS(X) X(tx_dropped_no_room, "frames without the room that a VLAN tag needs")

struct PortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_VLAN_PORT_COUNTERS)
};

class Port final : public NetDevice {
public:
    Port(std::shared_ptr<Trunk> trunk, Id id);
    ~Port() override;

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return trunk_->device().capabilities(); }
    std::optional<wire::MacAddress> mac() const override { return trunk_->mac(); }
    std::optional<RssTable> rss() const override { return trunk_->device().rss(); }
    Id id() const { return id_; }

    Result<void> up() override;
    void down() override;
    bool link_up() override { return trunk_->device().link_up(); }
    bool wants_link_up() const noexcept override { return trunk_->device().wants_link_up(); }

    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    bool rx_consumed(std::uint16_t queue) const noexcept override { return queues_[queue]->consumed; }
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;

    /// The device's for the first port. It wakes the thread for all: the others have one that never does.
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;

    std::error_code set_identity(const Identity& identity) override { return trunk_->device().set_identity(identity); }
    std::error_code attach_multicast(const MulticastAddress& group) override { return trunk_->attach(group); }
    std::error_code detach_multicast(const MulticastAddress& group) override { return trunk_->detach(group); }

    /// Of the first port with the trunk's and its device's.
    void counters(const CounterVisitor& visit) const override;
    void queue_counters(std::uint16_t queue, const CounterVisitor& visit) const override;

    // For the trunk.

    std::size_t room(std::uint16_t queue) const noexcept;
    /// Keeps a frame, for which there is room, until the port's next `rx_burst`.
    void keep(std::uint16_t queue, rte_mbuf* frame) noexcept;

private:
    /// Frames received by another port's `rx_burst`, first in, first out.
    struct alignas(64) Queue {
        std::array<rte_mbuf*, 2 * max_burst> kept;
        std::size_t begin = 0, end = 0;
        bool consumed = false, wanted = false;
        PortCounters counters;
    };

    std::uint16_t transmit(std::uint16_t queue, Burst tagged) noexcept;

    std::shared_ptr<Trunk> trunk_;
    Id id_;
    std::string name_;
    std::vector<std::unique_ptr<Queue>> queues_;
    EventDescriptor silence_ = EventDescriptor::make();
    bool up_ = false;
};

}  // namespace verbline::pmd::vlan
