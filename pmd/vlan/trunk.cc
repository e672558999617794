// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vlan/trunk.h"

#include <algorithm>
#include <utility>

#include "pmd/vlan/port.h"

namespace verbline::pmd::vlan {

std::shared_ptr<Trunk> Trunk::create(std::unique_ptr<NetDevice> device, wire::MacAddress mac) {
    return std::shared_ptr<Trunk>(new Trunk(std::move(device), mac));
}

Trunk::Trunk(std::unique_ptr<NetDevice> device, wire::MacAddress mac)
    : device_(std::move(device)), mac_(device_->mac().value_or(mac)) {
    const auto& own = device_->capabilities();
    for (unsigned i = 0; i < std::max(own.rx_queues, own.tx_queues); ++i) queues_.push_back(std::make_unique<Queue>());
}

std::unique_ptr<NetDevice> Trunk::port(Id id) {
    auto port = std::make_unique<Port>(shared_from_this(), id);
    by_id_[static_cast<std::uint16_t>(id)] = port.get();
    ports_.push_back(port.get());
    return port;
}

void Trunk::remove(const Port& port) {
    std::erase(ports_, &port);
    by_id_[static_cast<std::uint16_t>(port.id())] = nullptr;
}

Result<void> Trunk::up() {
    if (up_ == 0)
        if (auto done = device_->up(); !done) return done;
    ++up_;
    return {};
}

void Trunk::down() {
    if (--up_ == 0) device_->down();
}

std::error_code Trunk::attach(const MulticastAddress& group) {
    if (groups_[group.mac]++ > 0) return {};
    return device_->attach_multicast(group);
}

std::error_code Trunk::detach(const MulticastAddress& group) {
    const auto found = groups_.find(group.mac);
    if (found == groups_.end() || --found->second > 0) return {};
    groups_.erase(found);
    return device_->detach_multicast(group);
}

std::uint16_t Trunk::receive(std::uint16_t queue, std::size_t limit) noexcept {
    auto room = std::min(limit, max_burst);
    for (const auto* port : ports_) room = std::min(room, port->room(queue));
    std::array<rte_mbuf*, max_burst> frames;
    const auto received = device_->rx_burst(queue, Burst(frames).first(room));
    distribute(*queues_[queue], queue, Burst(frames).first(received));
    return received;
}

void Trunk::distribute(Queue& queue, std::uint16_t number, Burst frames) noexcept {
    for (auto* frame : frames) {
        const auto id = take(*frame);
        auto* const port = id ? by_id_[static_cast<std::uint16_t>(*id)] : nullptr;
        if (port != nullptr) {
            port->keep(number, frame);
            continue;
        }
        (id ? queue.counters.rx_dropped_vlan : queue.counters.rx_dropped_malformed).add();
        rte_pktmbuf_free(frame);
    }
}

void Trunk::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    auto& wanting = queues_[queue]->wanting;
    if (wanted ? wanting++ == 0 : --wanting == 0) device_->want_rx_event(queue, wanted);
}

void Trunk::counters(const CounterVisitor& visit) const {
    visit_sums(queues_, visit, [](const auto& queue) -> const VlanCounters& { return queue->counters; });
    device_->counters(visit);
}

}  // namespace verbline::pmd::vlan
