// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/bridge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <rte_mbuf.h>

#include <fmt/format.h>

#include "pmd/bridge/frame.h"

namespace verbline::pmd {
namespace {

Capabilities common(const std::vector<std::unique_ptr<NetDevice>>& members) {
    auto all = members.front()->capabilities();
    for (const auto& member : members) all = pmd::common(all, member->capabilities());
    return all;
}

/// Visits a member's counters, their names prefixed with the member's.
CounterVisitor of_member(std::size_t number, const CounterVisitor& visit) {
    return [number, &visit](std::string_view name, std::uint64_t value, std::string_view help) {
        visit(fmt::format("member{}_{}", number, name), value, help);
    };
}

}  // namespace

Result<std::unique_ptr<Bridge>> Bridge::create(std::string name, std::vector<std::unique_ptr<NetDevice>> members,
                                               rte_mempool* pool, Clock clock) {
    if (members.empty() || members.size() > max_members) {
        return failure(EINVAL, fmt::format("switch {}: has {} devices; 1 to {} are possible", name, members.size(),
                                           std::size_t{max_members}));
    }
    for (const auto& member : members) {
        if (member->capabilities().carries == Carries::ethernet) continue;
        return failure(EINVAL, fmt::format("switch {}: device {} carries no Ethernet frames", name, member->name()));
    }
    return std::unique_ptr<Bridge>(new Bridge(std::move(name), std::move(members), pool, std::move(clock)));
}

Bridge::Bridge(std::string name, std::vector<std::unique_ptr<NetDevice>> members, rte_mempool* pool, Clock clock)
    : name_(std::move(name)),
      members_(std::move(members)),
      pool_(pool),
      clock_(std::move(clock)),
      capabilities_(common(members_)),
      changed_(alone() ? EventDescriptor() : EventDescriptor::make()),
      lanes_(std::max(capabilities_.rx_queues, capabilities_.tx_queues)) {
    for (auto& lane : lanes_) {
        if (changed_) lane.wakeups.add(changed_.get(), members_.size());
        for (std::size_t i = 0; i < members_.size(); ++i) lane.waiting.emplace_back(max_waiting);
    }
    for (auto& link : link_) link = true;
}

int Bridge::numa_socket() const {
    const int first = members_.front()->numa_socket();
    const auto is_there = [first](const auto& member) { return member->numa_socket() == first; };
    return std::ranges::all_of(members_, is_there) ? first : any_numa_socket;
}

std::optional<wire::MacAddress> Bridge::mac() const {
    return alone() ? members_[0]->mac() : std::nullopt;
}

Result<void> Bridge::up() {
    for (auto& member : members_) {
        if (auto done = member->up(); !done) return done;
    }
    return {};
}

void Bridge::down() {
    for (auto& member : members_) member->down();
}

bool Bridge::link_up() {
    bool any = false, changed = false;
    for (unsigned i = 0; i < members_.size(); ++i) {
        const bool up = members_[i]->link_up();
        const bool before = link_[i].exchange(up, std::memory_order_relaxed);
        if (before && !up) table_.forget(i);
        any = any || up;
        changed = changed || up != before;
    }
    if (changed && changed_) changed_.signal();
    table_.expire(clock_());
    return any;
}

std::error_code Bridge::set_identity(const Identity& identity) {
    if (alone()) return members_[0]->set_identity(identity);
    local_.store(mac_number(identity.mac), std::memory_order_relaxed);
    return {};
}

std::error_code Bridge::attach_multicast(const MulticastAddress& group) {
    return alone() ? members_[0]->attach_multicast(group) : std::error_code();
}

std::error_code Bridge::detach_multicast(const MulticastAddress& group) {
    return alone() ? members_[0]->detach_multicast(group) : std::error_code();
}

std::error_code Bridge::receive_all_multicast(bool all) {
    return alone() ? members_[0]->receive_all_multicast(all) : std::error_code();
}

std::uint16_t Bridge::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    if (alone()) return members_[0]->rx_burst(queue, burst);
    auto& lane = lanes_[queue];
    Outgoing out;
    std::size_t n = 0, taken = 0;
    lane.consumed = false;
    auto budget = std::min(burst.size(), max_burst);  // all frames may be for the local port, or for one member
    const auto first = lane.next++;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto from = (first + i) % members_.size();
        const auto left = members_.size() - i;
        const auto frames = burst.subspan(n, (budget + left - 1) / left);
        const auto received = members_[from]->rx_burst(queue, frames);
        lane.consumed = lane.consumed || members_[from]->rx_consumed(queue);
        budget -= received;
        taken += received;
        for (auto* frame : frames.first(received)) {
            if (for_us(frame, from, lane, out)) burst[n++] = frame;
        }
    }
    flush(queue, lane, out);
    lane.consumed = lane.consumed || taken > n;
    return static_cast<std::uint16_t>(n);
}

bool Bridge::rx_consumed(std::uint16_t queue) const noexcept {
    return alone() ? members_[0]->rx_consumed(queue) : lanes_[queue].consumed;
}

/// Adds a member's frame to the output of its receivers. True if it is (also) for the local port.
bool Bridge::for_us(rte_mbuf* frame, std::size_t from, Lane& lane, Outgoing& out) noexcept {
    const auto drop = [&](Counter& why) {
        why.add();
        rte_pktmbuf_free(frame);
        return false;
    };
    if (is_runt(*frame)) return drop(lane.counters.rx_dropped_runt);
    const auto local = local_.load(std::memory_order_relaxed);
    const auto sender = source_mac(*frame), receiver = destination_mac(*frame);
    if (sender == 0 || sender == local || is_group(sender)) return drop(lane.counters.rx_dropped_source);
    table_.learn(sender, static_cast<unsigned>(from));

    const auto add = [&](std::size_t to, rte_mbuf* one) { out.frames[to][out.count[to]++] = one; };
    const bool group = is_group(receiver);
    const bool ours = group || local == 0 || receiver == local;
    if (ours && !group && local != 0) return true;
    if (!group) {
        if (const auto to = table_.find(receiver)) {
            if (*to == from) return ours || drop(lane.counters.rx_dropped_same_member);
            auto* const one = ours ? copy(*frame, lane) : frame;
            if (one != nullptr) add(*to, one);
            lane.counters.forwarded.add();
            return ours;
        }
    }
    for (std::size_t to = 0; to < members_.size(); ++to) {
        if (to == from || !link_[to].load(std::memory_order_relaxed)) continue;
        if (auto* one = copy(*frame, lane)) add(to, one);
    }
    if (!ours) rte_pktmbuf_free(frame);
    return ours;
}

rte_mbuf* Bridge::copy(const rte_mbuf& frame, Lane& lane) const noexcept {
    auto* const twin = rte_pktmbuf_copy(&frame, pool_, 0, UINT32_MAX);
    (twin != nullptr ? lane.counters.flooded : lane.counters.flood_dropped_no_mbuf).add();
    return twin;
}

void Bridge::flush(std::uint16_t queue, Lane& lane, Outgoing& out) noexcept {
    for (std::size_t to = 0; to < members_.size(); ++to) {
        forward(queue, to, std::span(out.frames[to]).first(out.count[to]), lane);
    }
}

/// Forwards frames behind those queued already. If they were dropped whenever the ring is full, local frames, which
/// wait for room, would keep it full and starve them.
void Bridge::forward(std::uint16_t queue, std::size_t to, Burst frames, Lane& lane) noexcept {
    lane.counters.forward_dropped_full.add(lane.waiting[to].send(*members_[to], queue, frames));
}

std::uint16_t Bridge::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    if (alone()) return members_[0]->tx_burst(queue, burst);
    auto& lane = lanes_[queue];
    const auto receiver = [&](const rte_mbuf* frame) -> std::optional<unsigned> {
        if (is_runt(*frame)) return std::nullopt;
        const auto mac = destination_mac(*frame);
        return is_group(mac) ? std::nullopt : table_.find(mac);
    };
    std::size_t done = 0;
    while (done < burst.size()) {
        const auto to = receiver(burst[done]);
        if (!to) {
            flood(queue, burst[done++], lane);
            continue;
        }
        auto end = done + 1;
        while (end < burst.size() && receiver(burst[end]) == to) ++end;
        const auto run = burst.subspan(done, end - done);
        const auto sent =
            lane.waiting[*to].flush(*members_[*to], queue) ? members_[*to]->tx_burst(queue, run) : std::uint16_t{0};
        done += sent;
        if (sent < run.size()) break;
    }
    if (burst.empty()) {
        for (auto& member : members_) member->tx_burst(queue, {});
    }
    return static_cast<std::uint16_t>(done);
}

/// Sends the frame to every member that is up: copies, and to the last of them the frame itself.
void Bridge::flood(std::uint16_t queue, rte_mbuf* frame, Lane& lane) noexcept {
    const auto send = [&](std::size_t to, rte_mbuf* one) { forward(queue, to, std::span(&one, 1), lane); };
    std::optional<std::size_t> last;
    for (std::size_t to = 0; to < members_.size(); ++to) {
        if (!link_[to].load(std::memory_order_relaxed)) continue;
        if (last) {
            if (auto* one = copy(*frame, lane)) send(*last, one);
        }
        last = to;
    }
    if (last) return send(*last, frame);
    lane.counters.flood_dropped_no_link.add();
    rte_pktmbuf_free(frame);
}

int Bridge::rx_event(std::uint16_t queue) const noexcept {
    if (alone()) return members_[0]->rx_event(queue);
    return lanes_[queue].deaf ? -1 : lanes_[queue].wakeups.fd();
}

void Bridge::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    if (alone()) return members_[0]->want_rx_event(queue, wanted);
    auto& lane = lanes_[queue];
    lane.deaf = std::ranges::any_of(lane.waiting, [](const auto& frames) { return !frames.empty(); });
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (!wanted) {
            members_[i]->want_rx_event(queue, false);
        } else if (!lane.wakeups.want(*members_[i], queue, i)) {
            lane.deaf = lane.deaf || link_[i].load(std::memory_order_relaxed);
        }
    }
    if (!wanted) lane.wakeups.wait(0, [](std::uint64_t) {});  // clears pending wakeups
}

void Bridge::counters(const CounterVisitor& visit) const {
    if (alone()) return members_[0]->counters(visit);
    visit_sums(lanes_, visit, [](const Lane& lane) -> const BridgeCounters& { return lane.counters; });
    for (std::size_t i = 0; i < members_.size(); ++i) members_[i]->counters(of_member(i, visit));
}

void Bridge::queue_counters(std::uint16_t queue, const CounterVisitor& visit) const {
    if (alone()) return members_[0]->queue_counters(queue, visit);
    lanes_[queue].counters.each(visit);
    for (std::size_t i = 0; i < members_.size(); ++i) members_[i]->queue_counters(queue, of_member(i, visit));
}

}  // namespace verbline::pmd
