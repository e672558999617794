// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A completion queue, filled by any number of shards and emptied by one user at a time.
///
///     shard 0 ──> lane 0 ──┐
///     shard 1 ──> lane 1 ──┼── poll ──> user          arm ──> notified once, when the next completion comes
///        ...               ┘
///
/// Each shard has a lane of its own, so that shards do not contend; order is kept within a lane, which is all the verbs
/// promise (IBTA 10.8.5). Pushing to a full lane is an overrun: the completion is lost, `overrun` stays true from then
/// on, nothing more is pushed, and the shard emits the event cq_error once.
///
/// Threads: `push`, `touch` and `notify` by the lane's shard; `poll` and `arm` by the user, one thread at a time.

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

    /// `entries`: capacity per shard, rounded up. `on_event` is called on a shard's thread, once per arming.
    CompletionQueue(std::uint32_t entries, unsigned shards, std::function<void()> on_event = {});

    std::uint32_t capacity() const { return lanes_.front()->ring.capacity(); }

    /// Moves up to `out.size()` completions to `out`; returns how many.
    std::size_t poll(std::span<Completion> out) noexcept;

    /// User: completions pending, of all lanes; a snapshot.
    std::size_t size() const noexcept {
        std::size_t sum = 0;
        for (const auto& lane : lanes_) sum += lane->ring.size();
        return sum;
    }

    /// Requests one `on_event` call for the next completion, or for the next solicited or failed one. Completions
    /// pushed before are not notified: poll once more after arming (IBTA 11.4.2.2).
    void arm(Armed what) noexcept { armed_.store(what, std::memory_order_seq_cst); }

    bool overrun() const { return overrun_.load(std::memory_order_relaxed); }

    /// Shard: adds a completion, which `fill(Completion&)` writes in place. Returns false on an overrun, now or
    /// earlier: the completion is lost.
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
    /// Shard, after `push`: returns true on the first call since `notify`, so that the caller lists the queue for
    /// `notify` once.
    bool touch(unsigned shard) noexcept;
    void notify(unsigned shard) noexcept;

    /// Changes the capacity to `entries` per shard and keeps pending completions. Returns false, without any change, if
    /// a lane holds more. By the user, while no shard pushes.
    bool resize(std::uint32_t entries);

    /// Discards pending completions of a destroyed queue pair (ibv_destroy_qp). By the thread that polls.
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
