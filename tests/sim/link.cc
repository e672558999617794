// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/link.h"

#include <algorithm>

#include <rte_mbuf.h>

namespace verbline::sim {

Time Serializer::send(std::uint32_t bytes, std::uint64_t rate_bps, Time now) {
    if (rate_bps == 0) return now;
    if (free_at_ < now) {
        free_at_ = now;
        rest_ = 0;
    }
    const auto work = std::uint64_t{bytes} * 8 * second + rest_;
    free_at_ += static_cast<Time>(work / rate_bps);
    rest_ = work % rate_bps;
    return free_at_;
}

std::uint64_t Serializer::backlog(std::uint64_t rate_bps, Time now) const {
    if (rate_bps == 0 || free_at_ <= now) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(free_at_ - now) * static_cast<double>(rate_bps) /
                                      (8 * second));
}

Link::Arrivals Link::pass(rte_mbuf* packet, Time departure, Time delay, const Faults& faults) {
    counters_.packets.add();
    counters_.bytes.add(packet->pkt_len);
    if (drops(*packet, departure, faults)) {
        rte_pktmbuf_free(packet);
        return {};
    }
    Arrivals arrivals;
    if (random_.chance(faults.random.duplicate)) {
        if (auto* const twin = rte_pktmbuf_copy(packet, packet->pool, 0, UINT32_MAX)) {
            counters_.duplicated.add();
            arrivals.twin = {twin, arrival(departure, delay, faults)};
        }
    }
    if (random_.chance(faults.random.corrupt)) corrupt(*packet, faults.corrupt_range);
    arrivals.first = {packet, arrival(departure, delay, faults)};
    return arrivals;
}

bool Link::drops(const rte_mbuf& packet, Time departure, const Faults& faults) {
    const auto dark = [&](const Blackout& b) { return b.from <= departure && departure < b.until; };
    if (std::ranges::any_of(faults.blackouts, dark)) {
        counters_.dropped_blackout.add();
        return true;
    }
    if (faults.drop_if && faults.drop_if(packet)) {
        counters_.dropped_script.add();
        return true;
    }
    if (random_.chance(faults.random.loss)) {
        counters_.lost.add();
        return true;
    }
    return false;
}

Time Link::arrival(Time departure, Time delay, const Faults& faults) {
    auto at = departure + delay + faults.random.delay;
    if (faults.random.jitter > 0) {
        at += static_cast<Time>(random_.below(static_cast<std::uint64_t>(faults.random.jitter) + 1));
    }
    if (random_.chance(faults.random.reorder)) {
        counters_.reordered.add();
        at += faults.reorder_hold;
    }
    return at;
}

void Link::corrupt(rte_mbuf& packet, ByteRange range) {
    range.until = std::min(range.until, packet.pkt_len);
    if (range.from >= range.until) return;
    const auto bit = random_.below((std::uint64_t{range.until} - range.from) * 8);
    auto byte = range.from + static_cast<std::uint32_t>(bit / 8);
    auto* segment = &packet;
    for (; byte >= segment->data_len; segment = segment->next) byte -= segment->data_len;
    *rte_pktmbuf_mtod_offset(segment, std::uint8_t*, byte) ^= static_cast<std::uint8_t>(1u << bit % 8);
    counters_.corrupted.add();
}

}  // namespace verbline::sim
