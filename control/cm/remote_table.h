// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Our endpoints' ids by what the far end is known by (remote_end.h). A part that becomes half full goes on in an array
/// of twice the size; each insert moves a few from the old one, so that none waits for all of them.
///
/// Who has several to find asks for their memory first: `prefetch`, then `find` (Core::receive does).
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

    /// 0: nobody.
    std::uint32_t find(const RemoteEnd& end) const;
    /// Soon `find` will be called, or another one.
    void prefetch(const RemoteEnd& end) const noexcept;
    /// Who has it: `id`, or somebody who had it before.
    std::uint32_t insert(const RemoteEnd& end, std::uint32_t id);
    /// From `old` to `id`; false: it is not `old`'s any more.
    bool replace(const RemoteEnd& end, std::uint32_t old, std::uint32_t id);
    /// If it is `id`'s.
    void erase(const RemoteEnd& end, std::uint32_t id);
    std::size_t size() const;

private:
    static constexpr std::size_t part_count = 16, first_size = 4;
    /// More than two empty the old array before the new one is half full.
    static constexpr std::size_t moved_at_once = 8;

    /// Where an array is, to be read without the lock: a wrong guess costs only time.
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
        std::size_t next_run = 0;  ///< of `old`: what is to be moved next
    };

    static std::uint64_t place_hash(std::uint64_t hash) { return hash / part_count; }
    static RemoteEntry* find(Part& part, const RemoteEnd& end, std::uint64_t hash);
    void grow(Part& part);
    void move_some(Part& part);

    RemoteHash hash_;
    std::array<Part, part_count> parts_;
};

}  // namespace verbline::cm
