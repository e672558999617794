// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/software_rss.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <rte_mbuf.h>

#include "pmd/rss/lane.h"

namespace verbline::pmd {

SoftwareRss::~SoftwareRss() = default;

std::optional<RssTable> SoftwareRss::rss() const {
    const auto key = options_.flows->key();
    return RssTable{.key = {key.begin(), key.end()}, .queues = options_.redirection};
}

std::uint16_t SoftwareRss::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& lane = *lanes_[queue];
    lane.turns.add();
    lane.consumed = lane.stalled = false;
    burst = burst.first(std::min(burst.size(), max_burst));
    std::size_t n = 0;
    const auto sources = lane.owned.size() + lane.inboxes.size();
    const auto first = lane.next++;
    for (std::size_t i = 0; i < sources; ++i) {
        const auto source = (first + i) % sources;
        const auto left = sources - i;
        const auto room = burst.subspan(n, (burst.size() - n + left - 1) / left);
        if (source < lane.owned.size()) {
            n += receive(lane, lane.owned[source], room);
        } else {
            const auto taken = lane.inboxes[source - lane.owned.size()]->pop(room);
            lane.counters.rx_taken_over.add(taken);
            n += taken;
        }
    }
    return static_cast<std::uint16_t>(n);
}

/// Reads from a queue of the device and hands on what is for others. Returns how many are left for this queue.
std::uint16_t SoftwareRss::receive(Lane& lane, std::uint16_t inner_queue, Burst room) noexcept {
    if (capabilities_.lossless_rx) {
        const auto free = lane.least_room();
        lane.stalled |= free == 0;
        room = room.first(std::min(room.size(), free));
    }
    if (room.empty()) return 0;
    const auto received = inner().rx_burst(inner_queue, room);
    const auto own = spread(lane, room.first(received));
    lane.consumed |= own < received || inner().rx_consumed(inner_queue);
    return own;
}

/// Keeps this queue's own packets, at the front of `received`, and hands over the others.
std::uint16_t SoftwareRss::spread(Lane& lane, Burst received) noexcept {
    if (received.empty()) return 0;
    std::array<std::uint32_t, max_burst> hashes;
    options_.flows->hash(capabilities_.carries, received, hashes);
    std::uint16_t own = 0;
    for (std::size_t i = 0; i < received.size(); ++i) {
        const auto to = queue_of(hashes[i]);
        if (to == lane.number) {
            received[own++] = received[i];
        } else {
            auto& outbox = *lane.outboxes[to];
            outbox.packets[outbox.count++] = received[i];
        }
    }
    if (own < received.size()) hand_over(lane);
    return own;
}

std::uint16_t SoftwareRss::queue_of(std::uint32_t hash) const noexcept {
    if (hash == FlowHash::none) return options_.owners.front();
    return options_.redirection[hash & (options_.redirection.size() - 1)];
}

void SoftwareRss::hand_over(Lane& lane) noexcept {
    for (const auto& outbox : lane.outboxes) {
        if (!outbox || outbox->count == 0) continue;
        const auto packets = std::span(outbox->packets).first(std::exchange(outbox->count, 0));
        const auto taken = outbox->ring.push(packets);
        const auto rest = packets.subspan(taken);
        lane.counters.rx_handed_over.add(taken);
        lane.counters.rx_dropped_handover_full.add(rest.size());
        rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
        if (taken > 0) wake(lane, *outbox->to);
    }
}

void SoftwareRss::wake(Lane& from, Lane& to) noexcept {
    if (to.signal.wake_up()) from.counters.handover_wakeups.add();
}

bool SoftwareRss::rx_consumed(std::uint16_t queue) const noexcept {
    const auto& lane = *lanes_[queue];
    // While the device refuses packets, others' wait behind these: that is no work that could be done now.
    return lane.consumed || (lane.pending() && !lane.stuck());
}

std::uint16_t SoftwareRss::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& lane = *lanes_[queue];
    lane.turns.add();
    if (lane.transmitter != nullptr) return hand_to_transmitter(lane, burst);
    if (lane.transmitters.empty()) return inner().tx_burst(queue, burst);
    for (const auto& other : std::span(lane.transmitters).subspan(1)) other->send({});
    return lane.transmitters.front()->send(burst);
}

std::uint16_t SoftwareRss::hand_to_transmitter(Lane& lane, Burst burst) noexcept {
    if (burst.empty()) return 0;
    if (const auto taken = lane.to_transmitter->push(burst); taken > 0) {
        lane.counters.tx_handed_over.add(taken);
        wake(lane, *lane.transmitter);
        return taken;
    }
    if (!lane.watch.stands_still(lane.transmitter->turns.value())) return 0;
    rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
    lane.counters.tx_dropped_handover_full.add(burst.size());
    return static_cast<std::uint16_t>(burst.size());
}

int SoftwareRss::rx_event(std::uint16_t queue) const noexcept {
    const auto& lane = *lanes_[queue];
    if (!lane.owns()) return lane.signal.descriptor();
    return lane.deaf ? -1 : lane.wakeups.fd();
}

void SoftwareRss::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    auto& lane = *lanes_[queue];
    if (wanted) {
        lane.signal.prepare_to_wait();
        lane.deaf = lane.stalled || lane.stuck();
        for (const auto one : lane.owned) {
            if (!lane.wakeups.want(inner(), one, one)) lane.deaf = true;
        }
    } else {
        lane.signal.finish_wait();
        lane.signal.drain();
        for (const auto one : lane.owned) inner().want_rx_event(one, false);
        if (lane.owns()) lane.wakeups.wait(0, [](std::uint64_t) {});  // clears pending wakeups
    }
}

void SoftwareRss::counters(const CounterVisitor& visit) const {
    visit_sums(lanes_, visit, [](const auto& lane) -> const SoftwareRssCounters& { return lane->counters; });
    inner().counters(visit);
}

void SoftwareRss::queue_counters(std::uint16_t queue, const CounterVisitor& visit) const {
    const auto& lane = *lanes_[queue];
    lane.counters.each(visit);
    for (const auto one : lane.owned) inner().queue_counters(one, visit);
}

}  // namespace verbline::pmd
