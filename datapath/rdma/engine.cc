// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring.h>

#include "pmd/base/tunables.h"

namespace verbline::rdma {
namespace {

constexpr unsigned packets_per_poll = pmd::max_burst;
constexpr std::size_t early_windows = 1024;

Result<rte_ring*> make_ring(const std::string& name, unsigned size, unsigned flags) {
    auto* const ring = rte_ring_create(name.c_str(), size, SOCKET_ID_ANY, flags);
    if (ring == nullptr) return failure(rte_errno, "cannot create ring " + name + ": " + rte_strerror(rte_errno));
    return ring;
}

}  // namespace

void Engine::FreeRing::operator()(rte_ring* ring) const {
    rte_ring_free(ring);
}

Result<std::unique_ptr<Engine>> Engine::create(const Setup& setup) {
    const auto pairs = std::bit_ceil(setup.max_queue_pairs);
    auto doorbells = make_ring(setup.name + ".bell", std::max(pairs * 2, 64u), RING_F_SC_DEQ);
    if (!doorbells) return std::unexpected(doorbells.error());
    RingPointer bell(*doorbells);
    return std::unique_ptr<Engine>(new Engine(setup, std::move(bell)));
}

Engine::Engine(const Setup& setup, RingPointer doorbells)
    : setup_(setup),
      doorbells_(std::move(doorbells)),
      wheel_(setup.start),
      tx_stage_(*setup.device, setup.queue, *setup.pool, counters_),
      reorder_(early_windows, setup.max_kept_packets),
      resend_(early_windows),
      context_{.now = setup.start,
               .shard = setup.shard,
               .tx_stage = tx_stage_,
               .keys = *setup.keys,
               .wheel = wheel_,
               .counters = counters_,
               .reorder = reorder_,
               .resend = resend_,
               .on_event = setup_.on_event},
      shard_bits_(static_cast<unsigned>(std::bit_width(setup.shards - 1))),
      slots_(std::min(std::bit_ceil(std::max(setup.max_queue_pairs, 2u)), std::uint32_t{1} << (24 - shard_bits_))) {
    const std::uint32_t all = 1u << (24 - shard_bits_);
    const auto first = setup.member ? link::first_qpn(*setup.member) : 0;
    // 0, 1 and the highest are reserved (IBTA 10.2.4.3).
    first_free_slot_ = std::max(first, 16u);
    end_of_slots_ = std::min(setup.member ? first + link::own_queue_pairs : all, all - 1);
    next_slot_ = setup.member ? first_free_slot_ : std::max(setup.first_slot & (all - 1), 1u);
    if (setup.member) tx_stage_.set_member(*setup.member);
    if (const auto mac = setup.device->mac()) tx_stage_.set_address(*mac);
}

Engine::~Engine() = default;

Result<void> Engine::connect(std::span<Engine* const> engines) {
    if (engines.size() == 1) return {};
    for (auto* const other : engines) {
        auto& outbox = outboxes_.emplace_back();
        if (other == this) continue;
        auto ring = pmd::HandoverRing::create(setup_.name + ">" + std::to_string(other->shard()), SOCKET_ID_ANY);
        if (!ring) return std::unexpected(ring.error());
        outbox.reset(new Outbox{.ring = std::move(*ring)});
        other->inboxes_.push_back(&outbox->ring);
    }
    return {};
}

bool Engine::poll(Time now) noexcept {
    if (!gate_.enter()) return false;
    context_.now = now;
    bool busy = poll_sources();
    busy |= transmit();
    tx_stage_.flush();
    notify();
    gate_.leave();
    return busy;
}

bool Engine::send(transport::TransportQueuePair& pair, Time now) noexcept {
    if (!gate_.enter()) return ring(pair), false;
    context_.now = now;
    activate(pair);
    transmit();
    tx_stage_.flush();
    poll_sources();
    if (active_first_ != nullptr || waiting_first_ != nullptr || !tx_stage_.empty()) {
        transmit();
        tx_stage_.flush();
    }
    notify();
    gate_.leave();
    return true;
}

/// Processes received packets, doorbells and timers, which activate queue pairs; the caller transmits.
bool Engine::poll_sources() noexcept {
    bool busy = receive_all();
    busy |= answer_doorbells();
    wheel_.advance(context_.now, [&](timer::Timer& timer) {
        auto& pair = static_cast<transport::TransportQueuePair&>(timer);
        if (pair.on_time(context_)) activate(pair);
    });
    return busy;
}

std::optional<Time> Engine::next_deadline() noexcept {
    if (!gate_.enter()) return context_.now;
    const bool resumes = waiting_first_ != nullptr && context_.flight.admitted() != 0;
    const bool now = active_first_ != nullptr || resumes || !tx_stage_.empty() || !tx_stage_.loopback().empty();
    const auto next = now ? std::optional(context_.now) : wheel_.next_deadline();
    gate_.leave();
    return next;
}

void Engine::ring(transport::TransportQueuePair& pair) noexcept {
    // The shard clears the flag before it reads the queue; the poster publishes the request before it sets the flag.
    // With a full fence on both sides (the exchange is one), either the shard sees the request or we see the flag
    // cleared.
    if (pair.rung.exchange(true, std::memory_order_seq_cst)) return;
    rte_ring_mp_enqueue(doorbells_.get(), &pair);  // cannot be full: each queue pair is in it at most once
}

bool Engine::answer_doorbells() noexcept {
    std::array<void*, tunables::doorbells_per_poll> rung;
    const auto n = rte_ring_sc_dequeue_burst(doorbells_.get(), rung.data(), tunables::doorbells_per_poll, nullptr);
    if (n == 0) return false;
    for (auto* const pair : std::span(rung).first(n)) rte_prefetch0(pair);
    for (auto* const pair : std::span(rung).first(n)) {
        static_cast<transport::TransportQueuePair*>(pair)->rung.store(false, std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (auto* const pair : std::span(rung).first(n)) activate(*static_cast<transport::TransportQueuePair*>(pair));
    return true;
}

void Engine::activate(transport::TransportQueuePair& pair) noexcept {
    if (pair.active) return;
    pair.active = true;
    pair.next_active = nullptr;
    (active_last_ != nullptr ? active_last_->next_active : active_first_) = &pair;
    active_last_ = &pair;
}

transport::TransportQueuePair* Engine::next_active() noexcept {
    auto* const pair = active_first_;
    if (pair == nullptr) return nullptr;
    active_first_ = pair->next_active;
    if (active_first_ == nullptr) active_last_ = nullptr;
    pair->active = false;
    // The next queue pair was prefetched one iteration ago; it holds the address of its oldest request.
    if (active_first_ != nullptr) {
        active_first_->prefetch_work();
        if (active_first_->next_active != nullptr) active_first_->next_active->prefetch();
    }
    return pair;
}

void Engine::await_flight(transport::TransportQueuePair& pair) noexcept {
    if (std::exchange(pair.waiting, true)) return;
    pair.next_waiting = nullptr;
    (waiting_last_ != nullptr ? waiting_last_->next_waiting : waiting_first_) = &pair;
    waiting_last_ = &pair;
}

/// Reactivates the queue pairs that have waited longest for room (flight.h), as many as will find room: they may have
/// nothing under way whose answer would reactivate them.
void Engine::resume_flight() noexcept {
    for (auto n = context_.flight.admitted(); n > 0 && waiting_first_ != nullptr; --n) {
        auto& pair = *waiting_first_;
        waiting_first_ = pair.next_waiting;
        if (waiting_first_ == nullptr) waiting_last_ = nullptr;
        pair.waiting = false;
        activate(pair);
    }
}

bool Engine::transmit() noexcept {
    if (waiting_first_ != nullptr) [[unlikely]]
        resume_flight();
    unsigned sent = 0;
    while (sent < packets_per_poll) {
        auto* const pair = next_active();
        if (pair == nullptr) break;
        const auto n = pair->transmit(context_, tunables::packets_per_turn);
        sent += n;
        const bool stalled = tx_stage_.refused();
        if (n == tunables::packets_per_turn || stalled) activate(*pair);
        if (context_.flight.refused()) await_flight(*pair);
        arm(*pair);
        if (stalled) break;
    }
    return sent != 0 || active_first_ != nullptr;
}

void Engine::arm(transport::TransportQueuePair& pair) noexcept {
    // A timer is only moved to an earlier time: one that fires early is armed again. A timer without a deadline is
    // cancelled now, since firing would pull the whole queue pair into the cache for nothing.
    const auto due = pair.due();
    if (due == 0) {
        pair.cancel();
    } else if (!pair.armed() || due < pair.deadline()) {
        wheel_.arm(pair, due);
    }
}

void Engine::notify() noexcept {
    if (context_.touched.empty()) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (auto* const queue : context_.touched) queue->notify(setup_.shard);
    context_.touched.clear();
}

std::size_t Engine::slot_of(wire::Qpn qpn) const noexcept {
    return (static_cast<std::uint32_t>(qpn) >> shard_bits_) & (slots_.size() - 1);
}

transport::TransportQueuePair* Engine::find(wire::Qpn qpn) const noexcept {
    auto* const pair = slots_[slot_of(qpn)];
    return pair != nullptr && pair->qpn() == qpn ? pair : nullptr;
}

wire::Qpn Engine::allocate_qpn(std::uint32_t ahead) noexcept {
    // Numbers are used round robin, so that late packets of a destroyed queue pair do not reach a new one of the same
    // number.
    for (std::uint32_t tried = 0; tried < slots_.size(); ++tried) {
        next_slot_ = std::max(next_slot_ + (tried == 0 ? ahead : 1), first_free_slot_);
        if (next_slot_ >= end_of_slots_)
            next_slot_ = first_free_slot_ + (next_slot_ - end_of_slots_) % (end_of_slots_ - first_free_slot_);
        const auto qpn = wire::Qpn{next_slot_ << shard_bits_ | setup_.shard};
        if (slots_[slot_of(qpn)] == nullptr && slot_of(qpn) != slot_of(wire::gsi_qpn)) return qpn;
    }
    return wire::Qpn{0};
}

void Engine::add(transport::TransportQueuePair& pair) {
    slots_[slot_of(pair.qpn())] = &pair;
}

void Engine::remove(transport::TransportQueuePair& pair) {
    pair.to_reset(context_);
    slots_[slot_of(pair.qpn())] = nullptr;
    for (auto& [group, members] : groups_) std::erase(members, &pair);
    std::erase_if(groups_, [](const auto& entry) { return entry.second.empty(); });
    // Remove it from the doorbell ring and from both lists.
    for (std::size_t n = rte_ring_count(doorbells_.get()); n > 0; --n) {
        void* other = nullptr;
        if (rte_ring_sc_dequeue(doorbells_.get(), &other) != 0) break;
        if (other != &pair) rte_ring_mp_enqueue(doorbells_.get(), other);
    }
    auto* rest = std::exchange(active_first_, nullptr);
    active_last_ = nullptr;
    while (rest != nullptr) {
        auto* const next = rest->next_active;
        rest->active = false;
        if (rest != &pair) activate(*rest);
        rest = next;
    }
    rest = std::exchange(waiting_first_, nullptr);
    waiting_last_ = nullptr;
    while (rest != nullptr) {
        auto* const next = rest->next_waiting;
        rest->waiting = false;
        if (rest != &pair) await_flight(*rest);
        rest = next;
    }
}

void Engine::set_pkeys(std::span<const wire::PKey> pkeys) {
    for (auto* const pair : slots_)
        if (pair != nullptr) pair->follow(pkeys);
}

void Engine::attach(const wire::Gid& group, transport::TransportQueuePair& pair) {
    auto& members = groups_[group];
    if (std::ranges::find(members, &pair) == members.end()) members.push_back(&pair);
}

void Engine::detach(const wire::Gid& group, transport::TransportQueuePair& pair) {
    const auto members = groups_.find(group);
    if (members == groups_.end()) return;
    std::erase(members->second, &pair);
    if (members->second.empty()) groups_.erase(members);
}

void Engine::visit_counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    bursts_.each(visit);
    discards_.each(visit);
}

}  // namespace verbline::rdma
