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
/// The pool also bounds how many packets all windows of a shard keep together. The wire is not changed by any of this:
/// to a peer that goes back and sends everything again, the rest are duplicates (IBTA 9.7.5.1.1).

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "datapath/link/arrival.h"
#include "datapath/wire/types.h"

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
        ++count_;
    }
    Kept take(wire::Psn psn) {
        --count_;
        return std::exchange(kept_[psn.value() % size], {});
    }
    bool empty() const { return count_ == 0; }
    std::uint32_t count() const { return count_; }
    /// Frees whatever is kept.
    void clear() noexcept;

    wire::Psn highest;  ///< of those kept

private:
    std::array<Kept, size> kept_{};
    std::uint32_t count_ = 0;
};

/// The windows of one shard.
class ReorderPool {
public:
    ReorderPool(std::size_t windows, std::uint32_t packets) : windows_limit_(windows), packets_limit_(packets) {}

    /// nullptr: all are in use.
    ReorderWindow* borrow();
    void give_back(ReorderWindow* window) noexcept;

    /// One more packet may be kept.
    bool may_keep() const { return packets_ < packets_limit_; }
    void kept() { ++packets_; }
    void released(std::uint32_t packets = 1) { packets_ -= packets; }

private:
    std::size_t windows_limit_;
    std::uint32_t packets_limit_, packets_ = 0;
    std::vector<std::unique_ptr<ReorderWindow>> all_;
    std::vector<ReorderWindow*> free_;
};

}  // namespace verbline::transport
