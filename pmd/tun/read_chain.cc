// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/read_chain.h"

#include <algorithm>

#include <rte_mbuf.h>

namespace verbline::pmd {

ReadChain::ReadChain(rte_mempool* pool, std::size_t capacity, std::span<std::byte> header)
    : pool_(pool), room_(rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM) {
    missing_ = (capacity + room_ - 1) / room_;
    segments_.resize(missing_, nullptr);
    vectors_.resize(1 + missing_);
    vectors_[0] = {header.data(), header.size()};
}

ReadChain::~ReadChain() {
    for (auto* segment : std::span(segments_).subspan(missing_)) rte_pktmbuf_free_seg(segment);
}

bool ReadChain::refill() {
    if (missing_ == 0) return true;
    if (rte_pktmbuf_alloc_bulk(pool_, segments_.data(), static_cast<unsigned>(missing_)) != 0) return false;
    for (std::size_t i = 0; i < missing_; ++i) vectors_[1 + i] = {rte_pktmbuf_mtod(segments_[i], void*), room_};
    missing_ = 0;
    return true;
}

rte_mbuf* ReadChain::take(std::size_t bytes) {
    auto* const head = segments_[0];
    head->pkt_len = static_cast<std::uint32_t>(bytes);
    for (auto* tail = head;; tail = tail->next) {
        const auto part = std::min(bytes, room_);
        tail->data_len = static_cast<std::uint16_t>(part);
        bytes -= part;
        ++missing_;
        if (bytes == 0) break;
        tail->next = segments_[missing_];
    }
    head->nb_segs = static_cast<std::uint16_t>(missing_);
    return head;
}

}  // namespace verbline::pmd
