// SPDX-License-Identifier: BSD-3-Clause
// The poll thread's side: frames from port to port, and sleep when there are none.
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
constexpr Time longest_sleep = 100 * millisecond;      ///< in case that a foreign peer forgets to wake us
constexpr Time deaf_sleep = 50 * microsecond;          ///< with devices that cannot wake us
constexpr Time shortest_backoff = 50 * microsecond, longest_backoff = millisecond;  ///< with full receivers

/// Groups that discovery depends on: they are flooded even if they have members. Broadcast; IPv6 solicited-node and
/// all-nodes (RFC 4861 needs both; RFC 4541, 3); 224.0.0.0/24 (RFC 4541, 2.1.2).
constexpr bool reaches_all(std::uint64_t mac) {
    return mac == 0xffff'ffff'ffff || mac >> 24 == 0x3333ff || mac == 0x3333'0000'0001 || mac >> 8 == 0x01'005e'0000;
}

void drop(rte_mbuf* frame, Counter& why) noexcept {
    why.add();
    rte_pktmbuf_free(frame);
}

}  // namespace

bool Switch::poll() noexcept {
    return gate_.with(0, false, [this](Topology& topology) { return poll(topology); });
}

bool Switch::poll(Topology& topology) noexcept {
    bool busy = false;
    const auto first = next_++;
    for (std::size_t i = 0; i < topology.all.size(); ++i) {
        auto& port = *topology.all[(first + i) % topology.all.size()];
        if (!port.output.empty()) port.output.flush(*port.device, 0);
        if (port.deaf) port.device->tx_burst(0, {});  // it may hold back frames that are due (impair)
        if (take_from(topology, port) == 0) continue;
        if (std::exchange(port.armed, false)) port.device->want_rx_event(0, false);
        busy = true;
    }
    return busy;
}

std::size_t Switch::take_from(Topology& topology, Port& port) noexcept {
    std::array<rte_mbuf*, share> burst;
    const auto received = port.device->rx_burst(0, burst);
    if (received > 0) pass(topology, port, std::span(burst).first(received));
    return received;
}

/// Forwards the remaining frames of a port that is being removed. Called by the control thread while the poll thread is
/// outside. Bounded, since the peer may keep sending.
void Switch::take_rest(Topology& topology, Port& port) noexcept {
    for (std::size_t taken = 0; taken < most_at_the_end;) {
        const auto received = take_from(topology, port);
        if (received == 0) break;
        taken += received;
        for (auto* const to : topology.all)
            if (!to->output.empty()) to->output.flush(*to->device, 0);
    }
}

/// Consecutive frames for the same port are sent together; frames to one port stay in order.
void Switch::pass(Topology& topology, Port& from, Burst frames) noexcept {
    if (options_.capture != nullptr) record(frames);
    std::array<rte_mbuf*, share> run;
    std::size_t length = 0;
    Port* to = nullptr;
    std::uint64_t destination = 0;
    const Ports* ports = nullptr;  // of `destination`
    const auto finish = [&] {
        if (length > 0) send(*to, std::span(run).first(std::exchange(length, 0)));
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
            replicate(*ports, from, frame);
        } else if (ports->empty() || ports->front() == &from) {
            drop(frame, from.counters.rx_dropped_no_receiver);
        } else {
            if (ports->front() != to) finish();
            to = ports->front();
            run[length++] = frame;
        }
    }
    finish();
}

void Switch::record(Burst frames) noexcept {
    const auto now = utc_now();
    for (const auto* frame : frames) {
        auto* const copy = options_.capture->copy(*frame);
        const bool added = copy != nullptr && options_.capture->add(source_, pcapng::Direction::inbound, now, copy);
        (added ? counters_.captured : counters_.capture_dropped).add();
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
void Switch::replicate(const Ports& to, Port& from, rte_mbuf* frame) noexcept {
    Port* last = nullptr;
    for (auto* port : to) {
        if (port == &from || !port->link.load(std::memory_order_relaxed)) continue;
        if (auto* const before = std::exchange(last, port)) {
            from.counters.rx_replicated.add();
            auto* copy = rte_pktmbuf_copy(frame, options_.pool, 0, UINT32_MAX);
            if (copy == nullptr) {
                from.counters.rx_dropped_no_mbuf.add();
            } else {
                send(*before, std::span(&copy, 1));
            }
        }
    }
    if (last != nullptr) return send(*last, std::span(&frame, 1));
    drop(frame, from.counters.rx_dropped_no_receiver);
}

void Switch::send(Port& to, Burst frames) noexcept {
    to.output.set_limit(to.waiting_limit.load(std::memory_order_relaxed));
    to.counters.tx_dropped_full.add(to.output.send(*to.device, 0, frames));
}

void Switch::wait() noexcept {
    const auto longest = gate_.with(0, longest_sleep, [this](Topology& topology) { return arm(topology); });
    if (poll()) return;
    counters_.sleeps.add();
    wakeups_.wait(longest, [this](std::uint64_t port) { disarm(port); });
}

/// Arms every port's receive event. Returns how long the thread may sleep.
Time Switch::arm(Topology& topology) noexcept {
    bool deaf = false, full = false;
    for (auto* port : topology.all) {
        if (!port->armed) port->armed = wakeups_.want(*port->device, 0, static_cast<std::uint64_t>(port->id));
        port->deaf = !port->armed && port->link.load(std::memory_order_relaxed);
        deaf = deaf || port->deaf;
        full = full || !port->output.empty();
    }
    // No event signals that a full ring has room again; a stalled receiver must not keep the thread awake.
    backoff_ = full ? std::clamp(backoff_ * 2, shortest_backoff, longest_backoff) : 0;
    if (deaf) return deaf_sleep;
    return full ? backoff_ : longest_sleep;
}

/// A port that has fired may have another descriptor now, or be gone.
void Switch::disarm(std::uint64_t id) noexcept {
    gate_.with(0, false, [&](Topology& topology) {
        const auto found = std::ranges::find(topology.all, PortId{static_cast<std::uint32_t>(id)}, &Port::id);
        if (found == topology.all.end() || !std::exchange((*found)->armed, false)) return false;
        (*found)->device->want_rx_event(0, false);
        return true;
    });
}

/// Spins for `spin`, unless other threads compete for the CPU. True if frames arrived meanwhile.
bool Switch::linger() noexcept {
    auto now = monotonic_now();
    const auto until = now + spin;
    while (now < until && !contention_.contended(static_cast<std::uint64_t>(now))) {
        rte_pause();
        if (poll()) return true;
        const auto before = std::exchange(now, monotonic_now());
        contention_.went_on(static_cast<std::uint64_t>(now), static_cast<std::uint64_t>(now - before));
    }
    return false;
}

void Switch::run(const std::atomic<bool>& stop) noexcept {
    prctl(PR_SET_TIMERSLACK, 1);  // sleeps of some microseconds are meant so
    while (!stop.load(std::memory_order_relaxed)) {
        if (!poll() && !linger()) wait();
    }
}

}  // namespace verbline::pmd
