// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Our endpoints' ids by what the far end is known by (remote_end.h). Open addressing with linear probing, at most half
/// full; what is erased leaves no trace, as those behind it move up.
///
/// Threads: any; each part has a lock.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "control/cm/remote_end.h"

namespace verbline::cm {

class RemoteTable {
public:
    /// `seed`: far ends choose the keys, and must not choose their places.
    explicit RemoteTable(std::uint64_t seed) : seed_(seed) {}

    /// 0: nobody.
    std::uint32_t find(const RemoteEnd& end) const;
    /// Who has it: `id`, or somebody who had it before.
    std::uint32_t insert(const RemoteEnd& end, std::uint32_t id);
    /// From `old` to `id`; false: it is not `old`'s any more.
    bool replace(const RemoteEnd& end, std::uint32_t old, std::uint32_t id);
    /// If it is `id`'s.
    void erase(const RemoteEnd& end, std::uint32_t id);
    std::size_t size() const;

private:
    static constexpr std::size_t part_count = 16;

    struct Entry {
        std::uint64_t owner = 0;
        wire::Gid gid{};
        std::uint32_t number = 0;
        std::uint32_t id = 0;  ///< 0: empty
    };
    static_assert(sizeof(Entry) == 32);

    struct alignas(64) Part {
        mutable std::mutex mutex;
        std::vector<Entry> entries = std::vector<Entry>(4);  ///< a power of two
        std::size_t used = 0;

        std::size_t mask() const { return entries.size() - 1; }
    };

    static bool holds(const Entry& entry, const RemoteEnd& end) {
        return entry.number == end.number && entry.owner == end.owner && entry.gid == end.gid;
    }
    std::uint64_t hash(const RemoteEnd& end) const;
    static std::size_t home(std::uint64_t hash, const Part& part) { return hash / part_count & part.mask(); }
    /// Where it stands, or the empty entry where it would.
    static std::size_t place(const Part& part, const RemoteEnd& end, std::uint64_t hash);
    void grow(Part& part) const;

    std::uint64_t seed_;
    std::array<Part, part_count> parts_;
};

}  // namespace verbline::cm
