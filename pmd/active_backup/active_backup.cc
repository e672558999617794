// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/active_backup/active_backup.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <rte_mbuf.h>

#include <fmt/format.h>

namespace verbline::pmd {
namespace {

constexpr unsigned discard_period = 256;  ///< polls: so that a backup's queue does not hold its sender's buffers
constexpr unsigned most_discarded = 64;   ///< bursts at a time

}  // namespace

Result<std::unique_ptr<ActiveBackup>> ActiveBackup::create(std::string name, Members members) {
    const auto &first = members[0]->capabilities(), &second = members[1]->capabilities();
    if (first.carries != second.carries) {
        return failure(
            EINVAL, fmt::format("{} and {} carry different kinds of packets", members[0]->name(), members[1]->name()));
    }
    if (first.rx_queues != second.rx_queues) {
        return failure(EINVAL, fmt::format("{} has {} queues, and its backup {} has {}", members[0]->name(),
                                           first.rx_queues, members[1]->name(), second.rx_queues));
    }
    const auto capabilities = common(first, second);
    return std::unique_ptr<ActiveBackup>(new ActiveBackup(std::move(name), std::move(members), capabilities));
}

ActiveBackup::ActiveBackup(std::string name, Members members, const Capabilities& capabilities)
    : name_(std::move(name)),
      members_(std::move(members)),
      capabilities_(capabilities),
      queues_(capabilities.rx_queues) {}

void ActiveBackup::select(unsigned member) {
    if (active_.exchange(member, std::memory_order_relaxed) != member) counters_.failovers.add();
}

Result<void> ActiveBackup::up() {
    for (const auto& member : members_) {
        if (auto up = member->up(); !up) return up;
    }
    return {};
}

void ActiveBackup::down() {
    for (const auto& member : members_) member->down();
}

bool ActiveBackup::link_up() {
    for (unsigned i = 0; i < members_.size(); ++i) links_[i] = members_[i]->link_up();
    return links_[active()];
}

std::uint16_t ActiveBackup::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& own = queues_[queue];
    const auto now = active();
    if (own.reads != now) {
        discard(*members_[now], queue);
        own.reads = now;
    }
    if (++own.polls % discard_period == 0) discard(*members_[1 - now], queue);
    return members_[now]->rx_burst(queue, burst);
}

/// Bounded, as its sender may go on.
void ActiveBackup::discard(NetDevice& member, std::uint16_t queue) noexcept {
    std::array<rte_mbuf*, max_burst> packets;
    for (unsigned i = 0; i < most_discarded; ++i) {
        const auto n = member.rx_burst(queue, packets);
        counters_.rx_discarded_backup.add(n);
        rte_pktmbuf_free_bulk(packets.data(), n);
        if (n == 0 && !member.rx_consumed(queue)) return;
    }
}

/// The descriptor that wakes the thread is the active one's when it is armed; the other's goes silent with the next.
void ActiveBackup::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    auto& own = queues_[queue];
    const auto now = active();
    if (own.armed != now) members_[own.armed]->want_rx_event(queue, false);
    own.armed = now;
    members_[now]->want_rx_event(queue, wanted);
}

void ActiveBackup::counters(const CounterVisitor& visit) const {
    CounterSums sums;
    for (const auto& member : members_) member->counters(sums.add());
    sums.each(visit);
    counters_.each(visit);
}

}  // namespace verbline::pmd
