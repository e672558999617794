// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One port of a trunk (trunk.h, which includes this): a device that receives its own frames alone.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pmd/base/event_descriptor.h"
#include "pmd/trunk/trunk.h"

namespace verbline::pmd::trunk {

template <class Sorting>
class Port final : public NetDevice {
public:
    using Key = Sorting::Key;

    Port(std::shared_ptr<Trunk<Sorting>> trunk, Key key);
    ~Port() override;

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return trunk_->device().capabilities(); }
    std::optional<wire::MacAddress> mac() const override { return trunk_->mac(); }
    int numa_socket() const override { return trunk_->device().numa_socket(); }
    std::optional<RssTable> rss() const override { return trunk_->device().rss(); }
    bool segments() const noexcept override { return trunk_->device().segments(); }
    Key key() const { return key_; }

    Result<void> up() override;
    void down() override {
        if (std::exchange(up_, false)) trunk_->down();
    }
    bool link_up() override { return trunk_->device().link_up(); }
    bool wants_link_up() const noexcept override { return trunk_->device().wants_link_up(); }

    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    bool rx_consumed(std::uint16_t queue) const noexcept override { return queues_[queue]->consumed; }
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;

    /// The device's for the first port. It wakes the thread for all: the others have one that never does.
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override {
        if (std::exchange(queues_[queue]->wanted, wanted) != wanted) trunk_->want_rx_event(queue, wanted);
    }

    std::error_code set_identity(const Identity& identity) override { return trunk_->device().set_identity(identity); }
    std::error_code attach_multicast(const MulticastAddress& group) override { return trunk_->attach(group); }
    std::error_code detach_multicast(const MulticastAddress& group) override { return trunk_->detach(group); }
    std::error_code receive_all_multicast(bool all) override {
        return std::exchange(all_multicast_, all) == all ? std::error_code() : trunk_->receive_all_multicast(all);
    }

    /// Of the first port with the trunk's and its device's.
    void counters(const CounterVisitor& visit) const override;
    void queue_counters(std::uint16_t queue, const CounterVisitor& visit) const override {
        if (trunk_->first(*this)) trunk_->device().queue_counters(queue, visit);
    }

    // For the trunk.

    std::size_t room(std::uint16_t queue) const noexcept {
        const auto& own = *queues_[queue];
        return own.kept.size() - own.end;
    }
    /// Keeps a frame, for which there is room, until the port's next `rx_burst`.
    void keep(std::uint16_t queue, rte_mbuf* frame) noexcept {
        auto& own = *queues_[queue];
        own.kept[own.end++] = frame;
    }

private:
    /// Frames received by another port's `rx_burst`, first in, first out.
    struct alignas(64) Queue {
        std::array<rte_mbuf*, 2 * max_burst> kept;
        std::size_t begin = 0, end = 0;
        bool consumed = false, wanted = false;
        Sorting::PortCounters counters;
    };

    static constexpr bool alters_frames = requires { &Sorting::put; };
    std::uint16_t transmit_altered(std::uint16_t queue, Burst burst) noexcept
        requires alters_frames;

    std::shared_ptr<Trunk<Sorting>> trunk_;
    Key key_;
    std::string name_;
    std::vector<std::unique_ptr<Queue>> queues_;
    EventDescriptor silence_ = EventDescriptor::make();
    bool up_ = false;
    bool all_multicast_ = false;
};

template <class Sorting>
Port<Sorting>::Port(std::shared_ptr<Trunk<Sorting>> trunk, Key key)
    : trunk_(std::move(trunk)), key_(key), name_(Sorting::name(trunk_->device().name(), key)) {
    const auto& own = capabilities();
    for (unsigned i = 0; i < std::max(own.rx_queues, own.tx_queues); ++i) queues_.push_back(std::make_unique<Queue>());
}

template <class Sorting>
Port<Sorting>::~Port() {
    down();
    std::ignore = receive_all_multicast(false);
    for (std::uint16_t i = 0; i < queues_.size(); ++i) {
        want_rx_event(i, false);
        auto& own = *queues_[i];
        for (; own.begin < own.end; ++own.begin) rte_pktmbuf_free(own.kept[own.begin]);
    }
    trunk_->remove(*this);
}

template <class Sorting>
Result<void> Port<Sorting>::up() {
    if (up_) return {};
    auto done = trunk_->up();
    up_ = done.has_value();
    return done;
}

template <class Sorting>
std::uint16_t Port<Sorting>::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& own = *queues_[queue];
    std::uint16_t received = 0;
    if (own.begin == own.end) {
        own.begin = own.end = 0;
        received = trunk_->receive(queue, burst.size());
    }
    const auto n = std::min(burst.size(), own.end - own.begin);
    std::ranges::copy_n(own.kept.begin() + static_cast<std::ptrdiff_t>(own.begin), static_cast<std::ptrdiff_t>(n),
                        burst.begin());
    own.begin += n;
    own.consumed = received > n || trunk_->device().rx_consumed(queue);
    return static_cast<std::uint16_t>(n);
}

template <class Sorting>
std::uint16_t Port<Sorting>::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    if constexpr (alters_frames) {
        if (Sorting::alters(key_)) return transmit_altered(queue, burst);
    }
    return trunk_->device().tx_burst(queue, burst);
}

/// What the device does not take is the caller's again, as it was.
template <class Sorting>
std::uint16_t Port<Sorting>::transmit_altered(std::uint16_t queue, Burst burst) noexcept
    requires alters_frames
{
    if (burst.empty()) return trunk_->device().tx_burst(queue, burst);
    std::size_t sent = 0;
    while (sent < burst.size()) {
        std::size_t end = sent;
        while (end < burst.size() && Sorting::put(*burst[end], key_)) ++end;
        const auto altered = burst.subspan(sent, end - sent);
        const auto taken = trunk_->device().tx_burst(queue, altered);
        for (auto* frame : altered.subspan(taken)) Sorting::undo_put(*frame);
        sent += taken;
        if (sent < end || end == burst.size()) break;
        Sorting::no_room(queues_[queue]->counters).add();
        rte_pktmbuf_free(burst[sent++]);
    }
    return static_cast<std::uint16_t>(sent);
}

template <class Sorting>
int Port<Sorting>::rx_event(std::uint16_t queue) const noexcept {
    const int event = trunk_->device().rx_event(queue);
    return event == -1 || trunk_->first(*this) ? event : silence_.get();
}

template <class Sorting>
void Port<Sorting>::counters(const CounterVisitor& visit) const {
    visit_sums(queues_, visit, [](const auto& queue) -> const auto& { return queue->counters; });
    if (trunk_->first(*this)) trunk_->counters(visit);
}

}  // namespace verbline::pmd::trunk
