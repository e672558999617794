// SPDX-License-Identifier: BSD-3-Clause
// The poll threads' side: frames from port to port, and sleep when there are none.
#include <algorithm>
#include <array>
#include <utility>

#include <rte_mbuf.h>
#include <rte_pause.h>
#include <sys/prctl.h>

#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/bridge/frame.h"
#include "pmd/bridge/switch.h"
#include "pmd/bridge/switch_topology.h"

namespace verbline::pmd {
namespace {

constexpr std::size_t share = tunables::switch_share;  ///< frames taken from one port before the next has its turn
constexpr std::size_t most_at_the_end = 4096;          ///< frames taken from a port that is removed
constexpr Time longest_sleep = 100 * millisecond;      ///< bounds the delay if another implementation misses a wake-up
constexpr Time deaf_sleep = 50 * microsecond;          ///< with devices that cannot wake us
constexpr Time shortest_backoff = 50 * microsecond, longest_backoff = millisecond;  ///< with full receivers

/// Groups that discovery depends on: they are flooded even if they have members. Broadcast; IPv6 solicited-node and
/// all-nodes (RFC 4861 needs both; RFC 4541, 3); 224.0.0.0/24 (RFC 4541, 2.1.2).
constexpr bool reaches_all(std::uint64_t mac) {
    return mac == 0xffff'ffff'ffff || mac >> 24 == 0x3333ff || mac == 0x3333'0000'0001 || mac >> 8 == 0x01'005e'0000;
}

/// A port as traces have it.
std::uint16_t traced(Switch::PortId port) {
    return static_cast<std::uint16_t>(port);
}

void drop(rte_mbuf* frame, Counter& why) noexcept {
    why.add();
    rte_pktmbuf_free(frame);
}

}  // namespace

bool Switch::poll(unsigned number) noexcept {
    auto& shard = *shards_[number];
    shard.meter.begin_poll();
    const bool busy = gate_.with(number, false, [&](Topology& topology) { return poll(shard, topology); });
    shard.meter.end_poll(busy);
    return busy;
}

bool Switch::poll(Shard& shard, Topology& topology) noexcept {
    bool busy = !shard.inboxes.empty() && take_over(shard, topology);
    const auto& ports = topology.of_shard[shard.number];
    const auto first = shard.next++;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        auto& port = *ports[(first + i) % ports.size()];
        if (!port.output.empty()) port.output.flush(*port.device, 0);
        if (port.deaf) port.device->tx_burst(0, {});  // it may hold back frames that are due (impair)
        if (take_from(shard, topology, port) == 0) continue;
        if (std::exchange(port.armed, false)) port.device->want_rx_event(0, false);
        busy = true;
    }
    if (!shard.outboxes.empty() && busy) wake_others(shard);
    return busy;
}

/// Sends what other shards have received for ports of this one.
bool Switch::take_over(Shard& shard, Topology& topology) noexcept {
    bool any = false;
    for (auto* const inbox : shard.inboxes) {
        std::array<rte_mbuf*, max_burst> frames;
        Burst rest = Burst(frames).first(inbox->pop(frames));
        any |= !rest.empty();
        shard.counters.rx_taken_over.add(rest.size());
        if (!rest.empty()) shard.trace.record(TraceEvent::taken_over, Trace::no_port, rest.size());
        while (!rest.empty()) {
            const auto id = rest.front()->hash.usr;
            const auto end = std::ranges::find_if(rest, [=](const auto* frame) { return frame->hash.usr != id; });
            const auto run = rest.first(static_cast<std::size_t>(end - rest.begin()));
            rest = rest.subspan(run.size());
            if (const auto port = topology.by_id.find(id); port != topology.by_id.end()) {
                send(shard, *port->second, run);
            } else {
                shard.counters.tx_dropped_no_port.add(run.size());
                rte_pktmbuf_free_bulk(run.data(), static_cast<unsigned>(run.size()));
            }
        }
    }
    return any;
}

std::size_t Switch::take_from(Shard& shard, Topology& topology, Port& port) noexcept {
    std::array<rte_mbuf*, share> burst;
    const auto received = port.device->rx_burst(0, burst);
    if (received > 0) {
        shard.trace.record(TraceEvent::received, traced(port.id), received);
        shard.counters.rx_bursts.add();
        shard.counters.rx_burst_packets.add(received);
        pass(shard, topology, port, std::span(burst).first(received));
    }
    return received;
}

/// Forwards the remaining frames of a port that is being removed. Called by the control thread while all poll threads
/// are outside. Bounded, since the peer may keep sending.
void Switch::take_rest(Topology& topology, Port& port) noexcept {
    auto& shard = *shards_[port.shard];
    for (std::size_t taken = 0; taken < most_at_the_end;) {
        const auto received = take_from(shard, topology, port);
        if (received == 0) break;
        taken += received;
        for (const auto& ports : topology.of_shard)
            for (auto* const to : ports)
                if (!to->output.empty()) to->output.flush(*to->device, 0);
        for (const auto& other : shards_) take_over(*other, topology);
    }
}

/// Consecutive frames for the same port are sent together; frames to one port stay in order.
void Switch::pass(Shard& shard, Topology& topology, Port& from, Burst frames) noexcept {
    if (options_.capture != nullptr) record(shard, frames);
    std::array<rte_mbuf*, share> run;
    std::size_t length = 0;
    Port* to = nullptr;
    std::uint64_t destination = 0;
    const Ports* ports = nullptr;  // of `destination`
    const auto finish = [&] {
        if (length > 0) deliver(shard, from, *to, std::span(run).first(std::exchange(length, 0)));
    };
    for (auto* frame : frames) {
        from.counters.rx_packets.add();
        from.counters.rx_bytes.add(frame->pkt_len);
        if (auto* const why = objection(topology, from, *frame)) {
            drop(frame, *why);
            continue;
        }
        // Most frames have the destination of the previous one.
        if (const auto next = destination_mac(*frame); ports == nullptr || next != destination) {
            destination = next;
            ports = &receivers(topology, destination);
        }
        if (ports->size() > 1) {
            finish();
            replicate(shard, *ports, from, frame);
        } else if (ports->empty() || ports->front() == from.first) {
            drop(frame, from.counters.rx_dropped_no_receiver);
        } else {
            if (ports->front() != to) finish();
            to = ports->front();
            run[length++] = frame;
        }
    }
    finish();
}

void Switch::record(Shard& shard, Burst frames) noexcept {
    const auto now = utc_now();
    for (const auto* frame : frames) {
        auto* const copy = options_.capture->copy(*frame);
        const bool added = copy != nullptr && options_.capture->add(source_, pcapng::Direction::inbound, now, copy);
        (added ? shard.counters.captured : shard.counters.capture_dropped).add();
    }
}

/// The counter of the reason to drop a frame from this port; null if it may pass.
Counter* Switch::objection(const Topology& topology, Port& from, const rte_mbuf& frame) noexcept {
    if (is_runt(frame)) return &from.counters.rx_dropped_runt;
    if (!legitimate(topology, from, source_mac(frame))) return &from.counters.rx_dropped_source;
    if (!from.guard || from.guard->is_own_ipv4(frame)) return nullptr;
    switch (from.guard->check(frame)) {
        case SourceGuard::Verdict::passes: return nullptr;
        case SourceGuard::Verdict::foreign_ip: return &from.counters.rx_dropped_source_ip;
        case SourceGuard::Verdict::foreign_arp: return &from.counters.rx_dropped_arp;
        case SourceGuard::Verdict::foreign_nd: return &from.counters.rx_dropped_nd;
    }
    return nullptr;
}

bool Switch::legitimate(const Topology& topology, const Port& from, std::uint64_t source) noexcept {
    if (!from.is_uplink()) return source == from.mac;
    if (source == 0 || is_group(source) || topology.known.contains(source)) return false;
    if (topology.uplinks.size() > 1) learned_.learn(source, from.uplink);
    return true;
}

/// `from` may be among them.
const Switch::Ports& Switch::receivers(const Topology& topology, std::uint64_t destination) const noexcept {
    if (reaches_all(destination)) return topology.all;
    if (const auto found = topology.known.find(destination); found != topology.known.end()) return found->second;
    if (is_group(destination)) return topology.all;
    if (const auto uplink = learned_.find(destination)) return topology.behind[*uplink];
    return topology.uplinks;
}

/// The last receiver gets the frame itself, the others copies, since any device may write into what it sends.
void Switch::replicate(Shard& shard, const Ports& to, Port& from, rte_mbuf* frame) noexcept {
    Port* last = nullptr;
    for (auto* port : to) {
        if (port == from.first || !port->link.load(std::memory_order_relaxed)) continue;
        if (auto* const before = std::exchange(last, port)) {
            from.counters.rx_replicated.add();
            auto* copy = rte_pktmbuf_copy(frame, options_.pool, 0, UINT32_MAX);
            if (copy == nullptr) {
                from.counters.rx_dropped_no_mbuf.add();
            } else {
                deliver(shard, from, *before, std::span(&copy, 1));
            }
        }
    }
    if (last != nullptr) return deliver(shard, from, *last, std::span(&frame, 1));
    drop(frame, from.counters.rx_dropped_no_receiver);
}

void Switch::deliver(Shard& shard, Port& from, Port& to, Burst frames) noexcept {
    auto& out = to.queues.empty() ? to : *to.queues[shard.number % to.queues.size()];
    if (out.shard == shard.number) [[likely]]
        return send(shard, out, frames);
    hand_over(shard, from, out, frames);
}

/// A port that is slow has its queue at its own shard; a ring is full only if that shard is slow.
void Switch::hand_over(Shard& shard, Port& from, Port& to, Burst frames) noexcept {
    for (auto* const frame : frames) frame->hash.usr = static_cast<std::uint32_t>(to.id);
    const auto taken = shard.outboxes[to.shard]->push(frames);
    const auto rest = frames.subspan(taken);
    shard.trace.record(TraceEvent::handed_over, traced(to.id), taken);
    if (!rest.empty()) shard.trace.record(TraceEvent::dropped_full, traced(to.id), rest.size());
    shard.counters.rx_handed_over.add(taken);
    shard.handed[to.shard] = true;
    from.counters.rx_dropped_handover_full.add(rest.size());
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
}

void Switch::wake_others(Shard& shard) noexcept {
    for (const auto& other : shards_) {
        if (!shard.handed[other->number]) continue;
        shard.handed[other->number] = false;
        if (other->signal.wake_up()) shard.counters.handover_wakeups.add();
    }
}

void Switch::send(Shard& shard, Port& to, Burst frames) noexcept {
    to.output.set_limit(to.waiting_limit.load(std::memory_order_relaxed));
    const auto dropped = to.output.send(*to.device, 0, frames);
    if (dropped > 0) shard.trace.record(TraceEvent::dropped_full, traced(to.id), dropped);
    to.counters.tx_dropped_full.add(dropped);
}

void Switch::wait(unsigned number) noexcept {
    auto& shard = *shards_[number];
    shard.signal.prepare_to_wait();
    const auto longest = gate_.with(number, longest_sleep, [&](Topology& topology) { return arm(shard, topology); });
    if (!poll(number)) {
        shard.counters.sleeps.add();
        shard.meter.begin_sleep(true);
        shard.wakeups.wait(longest, [&](std::uint64_t port) { disarm(shard, port); });
        shard.meter.end_sleep();
    }
    shard.signal.finish_wait();
}

/// Arms the receive events of the shard's ports. Returns how long the thread may sleep.
Time Switch::arm(Shard& shard, Topology& topology) noexcept {
    bool deaf = false, full = false;
    for (auto* port : topology.of_shard[shard.number]) {
        if (!port->armed) port->armed = shard.wakeups.want(*port->device, 0, static_cast<std::uint64_t>(port->id));
        port->deaf = !port->armed && port->link.load(std::memory_order_relaxed);
        deaf = deaf || port->deaf;
        full = full || !port->output.empty();
    }
    // No event signals that a full ring has room again; a stalled receiver must not keep the thread awake.
    shard.backoff = full ? std::clamp(shard.backoff * 2, shortest_backoff, longest_backoff) : 0;
    if (deaf) return deaf_sleep;
    return full ? shard.backoff : longest_sleep;
}

/// A port whose event fired may since have another descriptor, or have been removed.
void Switch::disarm(Shard& shard, std::uint64_t id) noexcept {
    gate_.with(shard.number, false, [&](Topology& topology) {
        const auto& ports = topology.of_shard[shard.number];
        const auto found = std::ranges::find(ports, PortId{static_cast<std::uint32_t>(id)}, &Port::id);
        if (found == ports.end() || !std::exchange((*found)->armed, false)) return false;
        (*found)->device->want_rx_event(0, false);
        return true;
    });
}

/// Spins for `spin`, unless other threads compete for the CPU. True if frames arrived meanwhile.
bool Switch::linger(Shard& shard) noexcept {
    auto now = monotonic_now();
    const auto until = now + spin;
    while (now < until && !shard.contention.contended(static_cast<std::uint64_t>(now))) {
        rte_pause();
        if (poll(shard.number)) return true;
        const auto before = std::exchange(now, monotonic_now());
        shard.contention.went_on(static_cast<std::uint64_t>(now), static_cast<std::uint64_t>(now - before));
    }
    return false;
}

void Switch::run(const std::atomic<bool>& stop, unsigned number) noexcept {
    prctl(PR_SET_TIMERSLACK, 1);  // ns; the default slack of 50 us exceeds our sleeps
    while (!stop.load(std::memory_order_relaxed)) {
        if (!poll(number) && !linger(*shards_[number])) wait(number);
    }
}

}  // namespace verbline::pmd
