// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/wire/ethernet.h"

namespace verbline::sim {
namespace {

/// As a number, in the low 48 bits.
std::uint64_t address_at(const rte_mbuf& frame, std::size_t offset) {
    const wire::Bytes bytes(rte_pktmbuf_mtod(&frame, const std::byte*), wire::Ethernet::size);
    return std::uint64_t{wire::load16(bytes, offset)} << 32 | wire::load32(bytes, offset + 2);
}
constexpr bool is_group(std::uint64_t address) {
    return (address >> 40 & 1) != 0;
}

}  // namespace

Network::~Network() {
    for (const auto& event : events_) rte_pktmbuf_free(event.packet);
}

SimulatedPort& Network::add_port(PortSetup setup) {
    const auto index = static_cast<std::uint32_t>(ports_.size());
    auto& port =
        *ports_.emplace_back(std::make_unique<SimulatedPort>(*this, index, std::move(setup), Seed{seeds_.next()}));
    if (port.mac()) place(*port.mac(), port);
    return port;
}

void Network::place(const wire::MacAddress& mac, const SimulatedPort& port) {
    table_[std::uint64_t{wire::load16(mac.bytes, 0)} << 32 | wire::load32(mac.bytes, 2)] = {port.index_, true};
}

std::optional<Time> Network::next_event() const {
    if (events_.empty()) return std::nullopt;
    return events_.front().at;
}

void Network::advance(Time now) {
    while (!events_.empty() && events_.front().at <= now) {
        std::pop_heap(events_.begin(), events_.end());
        const auto event = events_.back();
        events_.pop_back();
        now_ = event.at;
        auto& port = *ports_[event.port];
        event.at_host ? port.deliver(event.packet) : forward(port, event.packet);
    }
    now_ = std::max(now_, now);
}

void Network::schedule(const SimulatedPort& port, const Link::Arrivals& arrivals, bool at_host) {
    schedule(port, arrivals.first, at_host);
    schedule(port, arrivals.twin, at_host);
}

void Network::schedule(const SimulatedPort& port, const Link::Arrival& arrival, bool at_host) {
    if (arrival.packet == nullptr) return;
    events_.push_back({arrival.at, order_++, arrival.packet, port.index_, at_host});
    std::push_heap(events_.begin(), events_.end());
}

void Network::forward(SimulatedPort& from, rte_mbuf* frame) {
    learn(from, *frame);
    const auto destination = address_at(*frame, 0);
    const auto found = is_group(destination) ? table_.end() : table_.find(destination);
    if (found == table_.end()) return flood(from, frame);
    if (found->second.port == from.index_) {
        counters_.dropped_same_port.add();
        rte_pktmbuf_free(frame);
        return;
    }
    counters_.forwarded.add();
    enqueue(*ports_[found->second.port], frame);
}

void Network::learn(const SimulatedPort& from, const rte_mbuf& frame) {
    const auto source = address_at(frame, 6);
    if (source == 0 || is_group(source)) return;
    auto& place = table_.try_emplace(source, Place{from.index_, false}).first->second;
    if (!place.given) place.port = from.index_;
}

void Network::flood(const SimulatedPort& from, rte_mbuf* frame) {
    counters_.flooded.add();
    for (const auto& port : ports_) {
        if (port.get() == &from) continue;
        auto* const copy = rte_pktmbuf_copy(frame, &pool_, 0, UINT32_MAX);
        if (copy == nullptr) {
            counters_.dropped_no_mbuf.add();
            continue;
        }
        enqueue(*port, copy);
    }
    rte_pktmbuf_free(frame);
}

/// The end of the queue towards a host, where switches drop and mark.
void Network::enqueue(SimulatedPort& to, rte_mbuf* frame) {
    const auto& setup = to.setup_;
    const auto waiting = to.queue();
    if (frame->pkt_len > setup.max_frame) {
        to.refuse(frame, to.counters_.queue_dropped_oversize);
        return;
    }
    if (waiting + frame->pkt_len > setup.queue_limit) {
        to.refuse(frame, to.counters_.queue_dropped_full);
        return;
    }
    if (to.in_.random().chance(setup.marking.probability(waiting)) && mark_congestion(*frame)) {
        to.counters_.queue_marked.add();
    }
    const auto departure = to.queue_.send(frame->pkt_len, setup.rate_bps, now_);
    schedule(to, to.in_.pass(frame, departure, setup.delay, setup.in), true);
}

}  // namespace verbline::sim
