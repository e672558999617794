// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Interface::transmit_each: the transmit path of every kind of link, in one pass over the burst. The link's part, its
/// headers, is a function object that is inlined: no indirect call per packet.

#include <algorithm>

#include <rte_mbuf.h>

#include "datapath/link/interface.h"
#include "datapath/offload/segmentation.h"

namespace verbline::link {

template <class Wrap>
void Interface::transmit_each(pmd::Burst packets, Destinations to, Wrap wrap, Chains chains) noexcept {
    std::uint64_t bytes = 0;
    std::size_t ready = 0;  // packets in front with their headers on
    for (std::size_t i = 0; i < packets.size(); ++i) {
        auto* const packet = packets[i];
        bytes += packet->pkt_len;
        if (packet->nb_segs > 1 || (packet->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK) != 0) [[unlikely]] {
            if (must_segment(*packet)) {
                if (ready > 0) emit(packets.first(ready), to.first(ready));  // those in front first
                ready = 0;
                segment(packet, *to[i], wrap);
                continue;
            }
            if (!prepare(packet, chains)) continue;
        }
        if (auto* const reason = wrap(*packet, *to[i])) [[unlikely]] {
            reason->add();
            rte_pktmbuf_free(packet);
            continue;
        }
        packets[ready] = packet;
        to[ready++] = to[i];
    }
    counters_.tx_bytes.add(bytes);
    if (ready > 0) emit(packets.first(ready), to.first(ready));
}

template <class Wrap>
void Interface::segment(rte_mbuf* packet, const Destination& to, Wrap wrap) noexcept {
    offload::Segmenter segmenter(packet, pool_);  // owns the packet from here
    std::array<rte_mbuf*, pmd::max_burst> segments;
    std::array<const Destination*, pmd::max_burst> same;
    same.fill(&to);
    std::size_t made = 0;
    while (const auto n = segmenter.next(segments)) {
        made += n;
        std::size_t ready = 0;
        for (auto* one : pmd::Burst(segments).first(n)) {
            if (auto* const reason = wrap(*one, to)) [[unlikely]] {
                reason->add();
                rte_pktmbuf_free(one);
            } else {
                segments[ready++] = one;
            }
        }
        if (ready > 0) emit(pmd::Burst(segments).first(ready), Destinations(same).first(ready));
    }
    if (!segmenter.valid()) return counters_.tx_dropped_bad_request.add();
    counters_.tx_segmented.add();
    counters_.tx_segments.add(made + segmenter.remaining());
    counters_.tx_dropped_no_mbuf.add(segmenter.remaining());
}

}  // namespace verbline::link
