// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Endpoint ids by remote end (remote_end.h). A part that is half full continues in an array of twice the size; each
/// insert moves a few entries from the old one, so that no insert pays for a whole rehash.
///
/// To look up several ends, call `prefetch` for all before `find` (Manager::receive does).
///
/// Threads: any; each part has a lock.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "control/cm/remote_array.h"
#include "control/cm/remote_end.h"

namespace verbline::cm {

class RemoteTable {
public:
    explicit RemoteTable(std::uint64_t seed);

    /// Returns the endpoint id; 0: none.
    std::uint32_t find(const RemoteEnd& end) const;
    /// Call before any lookup or change of this end.
    void prefetch(const RemoteEnd& end) const noexcept;
    /// Inserts unless present. Returns the id in the table: `id`, or the one that was there already.
    std::uint32_t insert(const RemoteEnd& end, std::uint32_t id);
    /// Replaces `old` by `id`. False: the entry is no longer `old`'s.
    bool replace(const RemoteEnd& end, std::uint32_t old, std::uint32_t id);
    /// Erases the entry if it is `id`'s.
    void erase(const RemoteEnd& end, std::uint32_t id);
    std::size_t size() const;

private:
    static constexpr std::size_t part_count = 16, first_size = 4;
    /// Must exceed two, so that the old array is empty before the new one is half full.
    static constexpr std::size_t moved_at_once = 8;

    /// Location of an array, read without the lock: a stale value costs only a useless prefetch.
    struct Hint {
        std::atomic<const RemoteEntry*> start = nullptr;
        std::atomic<std::size_t> mask = 0;
        void set(const RemoteArray& array);
        void prefetch(std::uint64_t hash) const noexcept;
    };
    struct alignas(64) Part {
        Hint current_hint, old_hint;
        mutable std::mutex mutex;
        RemoteArray current, old;
        std::size_t next_run = 0;  ///< of `old`: index of the run to move next
    };

    static std::uint64_t place_hash(std::uint64_t hash) { return hash / part_count; }
    static RemoteEntry* find(Part& part, const RemoteEnd& end, std::uint64_t hash);
    void grow(Part& part);
    void move_some(Part& part);

    RemoteHash hash_;
    std::array<Part, part_count> parts_;
};

}  // namespace verbline::cm
