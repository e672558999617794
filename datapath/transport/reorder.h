// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Requests that arrived ahead of one that is missing, kept until it comes, so that a loss costs one packet and not
/// everything that was under way behind it.
///
///     expected                    highest
///        │ missing │ kept │ kept │ missing │ kept │
///        ▼                                   ▼
///
/// A window exists only while something is missing, and is borrowed from the shard's pool: an idle queue pair has none.
/// The wire is not changed by any of this: to a peer that goes back and sends everything again, the rest are duplicates
/// (IBTA 9.7.5.1.1).
///
/// What is kept are the device's receive buffers, and a peer decides how many. So the pool has a budget: a part of the
/// mempool, never all of it. One window may take all of the budget while no other needs it; once it is used up, those
/// that hold more than their fair share give way to those that hold less. What is given up is what lies farthest ahead
/// of the missing request, for it would have had to wait longest, and the peer sends it again.

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
    /// The place is free, and `psn` within the window: checked by the caller.
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
    /// None is kept behind it; itself may have been taken.
    wire::Psn highest() const { return highest_; }
    /// Frees the last ones, at most `count`. Returns how many.
    std::uint32_t evict(std::uint32_t count) noexcept;
    /// Frees whatever is kept.
    void clear() noexcept { evict(count_); }

    Time until = 0;  ///< when what is kept is given up

private:
    friend class ReorderPool;

    std::array<Kept, size> kept_{};
    wire::Psn highest_;
    std::uint32_t count_ = 0;
    std::uint32_t place_ = 0;  ///< among the lent windows
};

/// The windows of one shard.
class ReorderPool {
public:
    /// At most so many windows at a time, which keep at most so many packets together.
    ReorderPool(std::size_t windows, std::uint32_t packets) : windows_limit_(windows), packets_limit_(packets) {}

    /// nullptr: all are in use.
    ReorderWindow* borrow();
    void give_back(ReorderWindow* window) noexcept;

    /// True: `window` may keep one more packet, which is counted from now on. May cost another window some of its own.
    bool admit(const ReorderWindow& window, Counters& counters) noexcept;
    /// So many were taken out of a window.
    void released(std::uint32_t packets) noexcept { packets_ -= packets; }
    /// Frees up to so many packets, from those windows first that hold more than their fair share.
    void evict(std::uint32_t packets, Counters& counters) noexcept;

    std::uint32_t packets() const { return packets_; }

private:
    /// What each window may keep while the budget is used up.
    std::uint32_t fair_share() const noexcept;
    /// Frees up to `packets` of the next window that holds more than `share`, down to it. Returns how many.
    std::uint32_t evict_above(std::uint32_t share, std::uint32_t packets, Counters& counters) noexcept;

    std::size_t windows_limit_;
    std::uint32_t packets_limit_, packets_ = 0;
    std::size_t next_ = 0;  ///< the lent window that is looked at next
    std::vector<std::unique_ptr<ReorderWindow>> all_;
    std::vector<ReorderWindow*> free_, lent_;
};

}  // namespace verbline::transport
