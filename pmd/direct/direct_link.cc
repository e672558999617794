// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/direct/direct_link.h"

#include <utility>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "pmd/bridge/frame.h"

namespace verbline::pmd {

DirectLink::DirectLink(std::uint64_t peer, DirectId id, std::unique_ptr<Memif> pair, Time now)
    : peer_(peer),
      id_(id),
      since_(now),
      pair_(std::move(pair)),
      stall_ticks_(rte_get_tsc_hz() * static_cast<std::uint64_t>(stall_timeout) / second) {}

std::uint16_t DirectLink::receive(Burst burst, DirectRxCounters& counters) noexcept {
    const auto received = pair_->rx_burst(0, burst);
    std::uint16_t kept = 0;
    for (auto* const frame : burst.first(received)) {
        if (!is_runt(*frame) && source_mac(*frame) == peer_) {
            burst[kept++] = frame;
        } else {
            counters.rx_dropped_source.add();
            rte_pktmbuf_free(frame);
        }
    }
    return kept;
}

std::uint16_t DirectLink::send(Burst burst, DirectTxCounters& counters) noexcept {
    const auto sent = pair_->tx_burst(0, burst);
    if (sent > 0) {
        full_since_ = 0;
        begun_ = true;
        return sent;
    }
    if (!begun_) return 0;
    const auto now = rte_rdtsc();
    if (full_since_ == 0) full_since_ = now;
    if (now - full_since_ < stall_ticks_) return 0;
    rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
    counters.tx_dropped_stalled.add(burst.size());
    return static_cast<std::uint16_t>(burst.size());
}

}  // namespace verbline::pmd
