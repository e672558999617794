// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vlan/port.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace verbline::pmd::vlan {

Port::Port(std::shared_ptr<Trunk> trunk, Id id) : trunk_(std::move(trunk)), id_(id) {
    const auto base = trunk_->device().name();
    name_ = id == untagged ? std::string(base) : fmt::format("{}.{}", base, static_cast<std::uint16_t>(id));
    const auto& own = capabilities();
    for (unsigned i = 0; i < std::max(own.rx_queues, own.tx_queues); ++i) queues_.push_back(std::make_unique<Queue>());
}

Port::~Port() {
    down();
    for (std::uint16_t i = 0; i < queues_.size(); ++i) {
        want_rx_event(i, false);
        auto& own = *queues_[i];
        for (; own.begin < own.end; ++own.begin) rte_pktmbuf_free(own.kept[own.begin]);
    }
    trunk_->remove(*this);
}

Result<void> Port::up() {
    if (up_) return {};
    auto done = trunk_->up();
    up_ = done.has_value();
    return done;
}

void Port::down() {
    if (std::exchange(up_, false)) trunk_->down();
}

std::size_t Port::room(std::uint16_t queue) const noexcept {
    const auto& own = *queues_[queue];
    return own.kept.size() - own.end;
}

void Port::keep(std::uint16_t queue, rte_mbuf* frame) noexcept {
    auto& own = *queues_[queue];
    own.kept[own.end++] = frame;
}

std::uint16_t Port::rx_burst(std::uint16_t queue, Burst burst) noexcept {
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

std::uint16_t Port::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    if (id_ == untagged || burst.empty()) return trunk_->device().tx_burst(queue, burst);
    std::size_t sent = 0;
    while (sent < burst.size()) {
        std::size_t end = sent;
        while (end < burst.size() && put(*burst[end], id_)) ++end;
        sent += transmit(queue, burst.subspan(sent, end - sent));
        if (sent < end) break;
        if (end == burst.size()) break;
        queues_[queue]->counters.tx_dropped_no_room.add();
        rte_pktmbuf_free(burst[sent++]);
    }
    return static_cast<std::uint16_t>(sent);
}

/// What the device does not take is the caller's again, as it was.
std::uint16_t Port::transmit(std::uint16_t queue, Burst tagged) noexcept {
    const auto sent = trunk_->device().tx_burst(queue, tagged);
    for (auto* frame : tagged.subspan(sent)) undo_put(*frame);
    return sent;
}

int Port::rx_event(std::uint16_t queue) const noexcept {
    const int event = trunk_->device().rx_event(queue);
    return event == -1 || trunk_->first(*this) ? event : silence_.get();
}

void Port::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    if (std::exchange(queues_[queue]->wanted, wanted) != wanted) trunk_->want_rx_event(queue, wanted);
}

void Port::counters(const CounterVisitor& visit) const {
    visit_sums(queues_, visit, [](const auto& queue) -> const PortCounters& { return queue->counters; });
    if (trunk_->first(*this)) trunk_->counters(visit);
}

void Port::queue_counters(std::uint16_t queue, const CounterVisitor& visit) const {
    if (trunk_->first(*this)) trunk_->device().queue_counters(queue, visit);
}

}  // namespace verbline::pmd::vlan
