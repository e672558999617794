// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One array of a RemoteTable: open addressing with linear probing. What is erased leaves no trace, as those behind it
/// move up; so runs of entries without a gap can be taken out as a whole, from any gap on.
///
/// For one thread at a time.

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

/// With a secret: far ends choose the keys, and must not choose their places.
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
    /// `size`: a power of two; at most half of it is to be used.
    explicit RemoteArray(std::size_t size);

    const RemoteEntry* data() const { return entries_.data(); }
    std::size_t size() const { return entries_.size(); }
    bool full() const { return used_ >= entries_.size() / 2; }
    std::size_t used() const { return used_; }

    // `hash`: the end's, without the bits that chose the part.

    /// Null: it is not there.
    RemoteEntry* find(const RemoteEnd& end, std::uint64_t hash);
    const RemoteEntry* find(const RemoteEnd& end, std::uint64_t hash) const;
    /// It is not there, and there is room.
    void insert(const RemoteEntry& entry, std::uint64_t hash);
    /// `hash_of(end)` gives the hash of others.
    template <class HashOf>
    void erase(RemoteEntry* entry, HashOf&& hash_of);

    /// The first index in front of which there is a gap.
    std::size_t first_run() const;
    /// Takes out what stands from there on without a gap, and at least looks at `least` places; where to go on.
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
    // Those behind move up, unless that would take them in front of their home.
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
