// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One array of a RemoteTable: open addressing with linear probing. Erasing shifts the following entries back instead
/// of leaving tombstones, so a run of entries between two gaps can be moved out as a whole.
///
/// Not thread-safe.

#include <cstddef>
#include <cstdint>

#include "control/cm/remote_end.h"
#include "control/cm/zeroed_array.h"

namespace verbline::cm {

struct RemoteEntry {
    std::uint64_t owner = 0;
    wire::Gid gid{};
    std::uint32_t number = 0;
    std::uint32_t id = 0;  ///< 0: empty

    RemoteEnd end() const { return {.owner = owner, .gid = gid, .number = number}; }
};
static_assert(sizeof(RemoteEntry) == 32);

/// Keyed hash: peers choose the keys and must not be able to provoke collisions.
class RemoteHash {
public:
    explicit RemoteHash(std::uint64_t seed) : seed_(seed) {}
    std::uint64_t operator()(const RemoteEnd& end) const;

private:
    std::uint64_t seed_;
};

class RemoteArray {
public:
    RemoteArray() = default;
    /// `size`: a power of two; at most half of the entries may be used.
    explicit RemoteArray(std::size_t size);

    const RemoteEntry* data() const { return entries_.data(); }
    std::size_t size() const { return entries_.size(); }
    bool full() const { return used_ >= entries_.size() / 2; }
    std::size_t used() const { return used_; }

    // `hash`: of the end, without the bits that select the part.

    /// Returns null if absent.
    RemoteEntry* find(const RemoteEnd& end, std::uint64_t hash);
    const RemoteEntry* find(const RemoteEnd& end, std::uint64_t hash) const;
    /// The end must be absent, and the array not full.
    void insert(const RemoteEntry& entry, std::uint64_t hash);
    /// `hash_of(end)` returns the hash of another entry's end.
    template <class HashOf>
    void erase(RemoteEntry* entry, HashOf&& hash_of);

    /// The first index that follows an empty entry.
    std::size_t first_run() const;
    /// Removes the run of entries that starts at `from`, visiting at least `least` places. Returns where to continue.
    template <class Take>
    std::size_t take_run(std::size_t from, std::size_t least, Take&& take);

private:
    std::size_t mask() const { return entries_.size() - 1; }
    std::size_t place(const RemoteEnd& end, std::uint64_t hash) const;

    ZeroedArray<RemoteEntry> entries_;
    std::size_t used_ = 0;
};

template <class HashOf>
void RemoteArray::erase(RemoteEntry* entry, HashOf&& hash_of) {
    auto hole = static_cast<std::size_t>(entry - entries_.data());
    // Shift later entries back, but never in front of their home position.
    for (auto i = (hole + 1) & mask(); entries_[i].id != 0; i = (i + 1) & mask()) {
        const auto home = hash_of(entries_[i].end()) & mask();
        if (((i - home) & mask()) >= ((i - hole) & mask())) {
            entries_[hole] = entries_[i];
            hole = i;
        }
    }
    entries_[hole] = {};
    --used_;
}

template <class Take>
std::size_t RemoteArray::take_run(std::size_t from, std::size_t least, Take&& take) {
    auto i = from;
    for (; used_ != 0 && (least != 0 || entries_[i].id != 0); i = (i + 1) & mask()) {
        if (least != 0) --least;
        if (entries_[i].id == 0) continue;
        take(entries_[i]);
        entries_[i] = {};
        --used_;
    }
    return i;
}

}  // namespace verbline::cm
