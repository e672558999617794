// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/reorder.h"

#include <algorithm>

#include <rte_mbuf.h>

namespace verbline::transport {
namespace {

/// Packets evicted at a time, so that the search for a window is not repeated for each packet.
constexpr std::uint32_t evicted_at_once = 16;

}  // namespace

std::uint32_t ReorderWindow::evict(std::uint32_t count) noexcept {
    std::uint32_t evicted = 0;
    for (; evicted < count && count_ > 0; highest_ = highest_ + 0xff'ffff) {  // the one before
        if (!has(highest_)) continue;
        rte_pktmbuf_free(take(highest_).mbuf);
        ++evicted;
    }
    return evicted;
}

ReorderWindow* ReorderPool::borrow() {
    if (packets_limit_ == 0) return nullptr;
    if (free_.empty()) {
        if (all_.size() == windows_limit_) return nullptr;
        free_.push_back(all_.emplace_back(std::make_unique<ReorderWindow>()).get());  // at a shard's first losses only
        free_.reserve(all_.size());
        lent_.reserve(all_.size());
    }
    auto* const window = free_.back();
    free_.pop_back();
    window->place_ = static_cast<std::uint32_t>(lent_.size());
    lent_.push_back(window);
    return window;
}

void ReorderPool::give_back(ReorderWindow* window) noexcept {
    released(window->count());
    window->clear();
    lent_.back()->place_ = window->place_;
    lent_[window->place_] = lent_.back();
    lent_.pop_back();
    free_.push_back(window);
}

std::uint32_t ReorderPool::fair_share() const noexcept {
    return packets_limit_ / std::max(static_cast<std::uint32_t>(lent_.size()), 1u);
}

bool ReorderPool::admit(const ReorderWindow& window, RdmaCounters& counters) noexcept {
    if (packets_ >= packets_limit_) [[unlikely]] {
        const auto share = fair_share();
        if (window.count() >= share || evict_above(share, evicted_at_once, counters) == 0) return false;
    }
    ++packets_;
    return true;
}

void ReorderPool::evict(std::uint32_t packets, RdmaCounters& counters) noexcept {
    for (const auto share : {fair_share(), 0u}) {
        while (packets > 0) {
            const auto evicted = evict_above(share, std::min(packets, evicted_at_once), counters);
            if (evicted == 0) break;
            packets -= evicted;
        }
    }
}

std::uint32_t ReorderPool::evict_above(std::uint32_t share, std::uint32_t packets, RdmaCounters& counters) noexcept {
    for (std::size_t tried = 0; tried < lent_.size(); ++tried) {
        next_ = next_ + 1 < lent_.size() ? next_ + 1 : 0;
        auto& window = *lent_[next_];
        if (window.count() <= share) continue;
        const auto evicted = window.evict(std::min(packets, window.count() - share));
        counters.rx_dropped_reorder_evicted.add(evicted);
        packets_ -= evicted;
        return evicted;
    }
    return 0;
}

}  // namespace verbline::transport
