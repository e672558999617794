// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Responder: keeps packets that arrive behind a missing one until that arrives, so that a loss costs one packet and
/// not everything in flight behind it.
///
///     expected                    highest
///        │ missing │ kept │ kept │ missing │ kept │
///        ▼                                   ▼
///
/// A window exists only while something is missing, and is taken from the shard's pool: an idle queue pair has none.
/// The wire protocol is unchanged: if the peer goes back and sends everything again, the kept packets' copies are
/// duplicates (IBTA 9.7.5.1.1).
///
/// Kept packets occupy the device's receive buffers, and the peer determines how many. So the pool has a budget, a part
/// of the mempool. One window may use the whole budget while no other needs it; once it is used up, windows above their
/// fair share are evicted in favour of those below. Packets farthest ahead of the missing one are evicted first: they
/// would wait longest, and the peer retransmits them.

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "datapath/link/arrival.h"
#include "datapath/transport/counters.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

struct rte_mbuf;

namespace verbline::transport {

class ReorderWindow {
public:
    static constexpr std::uint32_t size = 1024;  ///< packets ahead of the missing one

    struct Kept {
        rte_mbuf* mbuf = nullptr;
        link::Arrival arrival;
    };

    bool has(wire::Psn psn) const { return kept_[psn.value() % size].mbuf != nullptr; }
    /// Takes ownership of the mbuf. The caller has checked that the place is free and `psn` within the window.
    void put(wire::Psn psn, const Kept& kept) {
        kept_[psn.value() % size] = kept;
        if (count_++ == 0 || psn - highest_ > 0) highest_ = psn;
    }
    Kept take(wire::Psn psn) {
        --count_;
        return std::exchange(kept_[psn.value() % size], {});
    }
    bool empty() const { return count_ == 0; }
    std::uint32_t count() const { return count_; }
    /// No packet with a higher PSN is kept; this one may have been taken.
    wire::Psn highest() const { return highest_; }
    /// Frees at most `count` packets, highest PSN first. Returns how many.
    std::uint32_t evict(std::uint32_t count) noexcept;
    /// Frees all kept packets.
    void clear() noexcept { evict(count_); }

    Time until = 0;  ///< when the kept packets expire

private:
    friend class ReorderPool;

    std::array<Kept, size> kept_{};
    wire::Psn highest_;
    std::uint32_t count_ = 0;
    std::uint32_t place_ = 0;  ///< index in ReorderPool::lent_
};

/// The windows of one shard and their common packet budget.
class ReorderPool {
public:
    /// At most `windows` in use at a time, which together hold at most `packets`.
    ReorderPool(std::size_t windows, std::uint32_t packets) : windows_limit_(windows), packets_limit_(packets) {}

    /// Returns nullptr if all windows are in use.
    ReorderWindow* borrow();
    void give_back(ReorderWindow* window) noexcept;

    /// Returns true, and counts the packet, if `window` may keep one more. May evict packets of another window.
    bool admit(const ReorderWindow& window, RdmaCounters& counters) noexcept;
    /// `packets` were taken out of a window.
    void released(std::uint32_t packets) noexcept { packets_ -= packets; }
    /// Frees up to `packets`, first from windows above their fair share.
    void evict(std::uint32_t packets, RdmaCounters& counters) noexcept;

    std::uint32_t packets() const { return packets_; }

private:
    /// Packets per window while the budget is used up.
    std::uint32_t fair_share() const noexcept;
    /// Evicts up to `packets` from the next window above `share`, down to `share`. Returns how many.
    std::uint32_t evict_above(std::uint32_t share, std::uint32_t packets, RdmaCounters& counters) noexcept;

    std::size_t windows_limit_;
    std::uint32_t packets_limit_, packets_ = 0;
    std::size_t next_ = 0;  ///< round-robin position in `lent_`
    std::vector<std::unique_ptr<ReorderWindow>> all_;
    std::vector<ReorderWindow*> free_, lent_;
};

}  // namespace verbline::transport
