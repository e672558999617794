// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a payload before it is posted: it is checked, its checksums are seeded, and it is made pieces that
// the device can read.
#include <cstdint>
#include <utility>

#include <rte_mbuf.h>

#include "pmd/hca/checksums.h"
#include "pmd/hca/send_queue.h"

namespace verbline::pmd::hca {

/// Why a request cannot carry the payload; null: it can. Its checksums are seeded.
Counter* SendQueue::prepare(rte_mbuf& payload) noexcept {
    auto& counters = setup_.counters;
    if (payload.pkt_len > mtu_) return &counters.tx_dropped_oversize;
    if (payload.nb_segs > setup_.segments) return &counters.tx_dropped_segments;
    if ((payload.ol_flags & checksum_requests) != 0 && !seed_checksums(payload))
        return &counters.tx_dropped_bad_request;
    return nullptr;
}

Counter* SendQueue::prepare_large(rte_mbuf& payload) noexcept {
    auto& counters = setup_.counters;
    const auto header = header_size(payload);
    if (setup_.max_tso == 0 || !setup_.does_tso->load(std::memory_order_relaxed))
        return &counters.tx_dropped_segmentation;
    if (payload.nb_segs > setup_.segments) return &counters.tx_dropped_segments;
    if (payload.pkt_len > setup_.max_tso || header + static_cast<std::uint32_t>(payload.tso_segsz) > mtu_)
        return &counters.tx_dropped_oversize;
    if (payload.tso_segsz == 0 || header > longest_tso_header || payload.pkt_len <= header || !seed_checksums(payload))
        return &counters.tx_dropped_bad_request;
    return nullptr;
}

/// The payload from byte `from` on, of its first segment, as pieces of a request; how many they are. 0: the device
/// cannot read all of it.
int SendQueue::gather(const rte_mbuf& payload, std::uint16_t from, std::span<ibv_sge> pieces) const noexcept {
    const auto* segment = &payload;
    if (from == segment->data_len && segment->next != nullptr) {
        segment = segment->next;
        from = 0;
    }
    auto piece = pieces.begin();
    for (; segment != nullptr; segment = segment->next, from = 0) {
        const auto* const at = rte_pktmbuf_mtod_offset(segment, const std::byte*, from);
        const auto key = setup_.regions.key(at);
        if (!key) return 0;
        *piece++ = {.addr = reinterpret_cast<std::uintptr_t>(at),
                    .length = static_cast<std::uint32_t>(segment->data_len - from),
                    .lkey = *key};
    }
    return static_cast<int>(piece - pieces.begin());
}

/// Replaces the payload by a copy that the device can read. False, and the payload unchanged: there is no buffer.
bool SendQueue::copy_into_regions(rte_mbuf*& payload) noexcept {
    auto* const copy = rte_pktmbuf_copy(payload, &setup_.pool, 0, UINT32_MAX);
    if (copy == nullptr || copy->nb_segs > setup_.segments) {
        rte_pktmbuf_free(copy);
        return false;
    }
    rte_pktmbuf_free(std::exchange(payload, copy));
    setup_.counters.tx_copied_packets.add();
    return true;
}

}  // namespace verbline::pmd::hca
