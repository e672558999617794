// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A completion queue, filled by any number of shards and emptied by one user at a time.
///
///     shard 0 ──> lane 0 ──┐
///     shard 1 ──> lane 1 ──┼── poll ──> user          arm ──> notified once, when the next completion comes
///        ...               ┘
///
/// Each shard has a lane of its own, so nobody waits for anybody; order is kept within a lane, which is all the verbs
/// promise (IBTA 10.8.5). A full lane is an overrun: the completion is lost, the queue says so for ever, and the owner
/// of the lane reports the event once.
///
/// Threads: `push` and `notify` by the lane's shard; `poll` and `arm` by the user, one thread at a time.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "datapath/transport/spsc_ring.h"
#include "datapath/transport/work.h"

namespace verbline::transport {

class CompletionQueue {
public:
    enum class Armed : std::uint8_t { no, solicited, any };

    /// `entries`: completions that are kept, of each shard. `on_event` is called by a shard's thread, once per arming.
    CompletionQueue(std::uint32_t entries, unsigned shards, std::function<void()> on_event = {});

    std::uint32_t capacity() const { return lanes_.front()->ring.capacity(); }

    /// Takes up to `out.size()` completions; returns how many.
    std::size_t poll(std::span<Completion> out) noexcept;

    /// User: how many there are, as far as seen.
    std::size_t size() const noexcept {
        std::size_t sum = 0;
        for (const auto& lane : lanes_) sum += lane->ring.size();
        return sum;
    }

    /// Asks to be told of the next completion (or solicited one, or error). Completions that came before are not told
    /// of: poll once more after arming (IBTA 11.4.2.2).
    void arm(Armed what) noexcept { armed_.store(what, std::memory_order_seq_cst); }

    bool overrun() const { return overrun_.load(std::memory_order_relaxed); }

    /// Shard: a new completion is filled in where it lies by `fill(Completion&)`. False: overrun, now or before.
    template <class Fill>
    bool push(unsigned shard, Fill&& fill) noexcept {
        auto& lane = *lanes_[shard];
        auto* const slot = overrun() ? nullptr : lane.ring.back();
        if (slot == nullptr) [[unlikely]]
            return lose(lane);
        *slot = {};
        fill(*slot);
        lane.solicited |= slot->solicited || slot->status != Status::success;
        lane.ring.push();
        return true;
    }
    /// Shard, once after one or more `push`es: true if it was told that there is news (only the first push says so).
    bool touch(unsigned shard) noexcept;
    void notify(unsigned shard) noexcept;

    /// Makes room for `entries` of each shard, keeping what is there; false: that is more, and nothing has changed. By
    /// the user, while no shard pushes.
    bool resize(std::uint32_t entries);

    /// Forgets what a queue pair that is gone has left (ibv_destroy_qp). As `poll`: by the user.
    void purge(wire::Qpn qpn) noexcept;

private:
    struct Lane {
        explicit Lane(std::uint32_t entries) : ring(entries) {}

        SpscRing<Completion> ring;
        bool touched = false, solicited = false;  ///< since the last `notify`; the shard's
    };

    bool lose(Lane& lane) noexcept;

    std::vector<std::unique_ptr<Lane>> lanes_;
    std::function<void()> on_event_;
    std::size_t next_lane_ = 0;
    std::atomic<Armed> armed_{Armed::no};
    std::atomic<bool> overrun_{false};
};

}  // namespace verbline::transport
