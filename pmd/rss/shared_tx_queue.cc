// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/shared_tx_queue.h"

#include <algorithm>
#include <span>

#include <rte_mbuf.h>

namespace verbline::pmd {

SharedTxQueue::~SharedTxQueue() {
    rte_pktmbuf_free_bulk(refused_.data(), static_cast<unsigned>(refused_count_));
}

std::uint16_t SharedTxQueue::send(Burst own) noexcept {
    if (!send_refused()) return 0;
    const auto turns = sources_.size() + 1;
    std::uint16_t sent = 0;
    for (std::size_t i = 0; i < turns; ++i) {
        if (turn_ < sources_.size()) {
            refused_count_ = sources_[turn_]->pop(refused_);
            turn_ = (turn_ + 1) % turns;
            if (!send_refused()) return sent;
        } else {
            sent = device_.tx_burst(queue_, own);
            if (sent == 0 && !own.empty()) return 0;  // its turn comes first when there is room
            turn_ = 0;
            if (sent < own.size()) return sent;
        }
    }
    return sent;
}

bool SharedTxQueue::pending() const noexcept {
    return std::ranges::any_of(sources_, [](const auto* ring) { return !ring->empty(); });
}

/// True if nothing is left that was refused.
bool SharedTxQueue::send_refused() noexcept {
    if (refused_count_ == 0) return true;
    const auto waiting = std::span(refused_).first(refused_count_);
    const std::size_t sent = device_.tx_burst(queue_, waiting);
    const auto rest = waiting.subspan(sent);
    std::ranges::copy(rest, refused_.begin());
    refused_count_ = rest.size();
    return rest.empty();
}

}  // namespace verbline::pmd
