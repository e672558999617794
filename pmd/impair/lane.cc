// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/impair/lane.h"

#include <algorithm>

#include <rte_mbuf.h>

namespace verbline::pmd {
namespace {

/// Whether another mbuf shares the packet's data, so that a flipped bit would appear in it, too.
bool shared(const rte_mbuf* packet) {
    for (; packet != nullptr; packet = packet->next) {
        if (!RTE_MBUF_DIRECT(packet) || rte_mbuf_refcnt_read(packet) > 1) return true;
    }
    return false;
}

rte_mbuf* copy_of(const rte_mbuf* packet) {
    return rte_pktmbuf_copy(packet, packet->pool, 0, UINT32_MAX);
}

}  // namespace

ImpairLane::ImpairLane(const Impairments& impairments, std::uint64_t seed) : impairments_(impairments), random_(seed) {
    held_.reserve(capacity);
}

ImpairLane::~ImpairLane() {
    drop();
}

void ImpairLane::set(const Impairments& impairments, std::uint64_t seed) {
    impairments_ = impairments;
    random_.seed(seed);
}

void ImpairLane::admit(rte_mbuf* packet, Time now) {
    if (chance(impairments_.loss)) {
        counters_.lost.add();
        rte_pktmbuf_free(packet);
        return;
    }
    if (chance(impairments_.duplicate)) {
        if (auto* twin = copy_of(packet)) {
            counters_.duplicated.add();
            hold(twin, now);
        }
    }
    if (chance(impairments_.corrupt)) packet = corrupt(packet);
    hold(packet, now);
}

std::uint16_t ImpairLane::release(Time now, Burst out) {
    std::uint16_t n = 0;
    while (n < out.size() && !held_.empty() && held_.front().due <= now) {
        std::pop_heap(held_.begin(), held_.end());
        out[n++] = held_.back().packet;
        held_.pop_back();
    }
    return n;
}

void ImpairLane::drop(Burst ready) {
    counters_.dropped_down.add(held_.size() + ready.size());
    for (const auto& held : held_) rte_pktmbuf_free(held.packet);
    held_.clear();
    rte_pktmbuf_free_bulk(ready.data(), static_cast<unsigned>(ready.size()));
}

bool ImpairLane::chance(double probability) {
    // 53 random bits make a double in [0, 1); the standard's distributions may differ between libraries.
    return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

void ImpairLane::hold(rte_mbuf* packet, Time now) {
    if (held_.size() == capacity) {
        counters_.dropped_full.add();
        rte_pktmbuf_free(packet);
        return;
    }
    auto due = now + impairments_.delay;
    if (impairments_.jitter > 0)
        due += static_cast<Time>(random_() % (static_cast<std::uint64_t>(impairments_.jitter) + 1));
    if (chance(impairments_.reorder)) {
        counters_.reordered.add();
        due += reorder_hold;
    }
    held_.push_back({due, order_++, packet});
    std::push_heap(held_.begin(), held_.end());
}

rte_mbuf* ImpairLane::corrupt(rte_mbuf* packet) {
    if (shared(packet)) {
        auto* const own = copy_of(packet);
        if (own == nullptr) return packet;
        rte_pktmbuf_free(packet);
        packet = own;
    }
    if (packet->pkt_len == 0) return packet;
    auto bit = random_() % (std::uint64_t{packet->pkt_len} * 8);
    auto* segment = packet;
    for (; bit >= segment->data_len * 8u; segment = segment->next) bit -= segment->data_len * 8u;
    *rte_pktmbuf_mtod_offset(segment, std::uint8_t*, bit / 8) ^= static_cast<std::uint8_t>(1u << bit % 8);
    counters_.corrupted.add();
    return packet;
}

}  // namespace verbline::pmd
