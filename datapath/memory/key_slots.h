// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The hash table of KeyTable: open addressing, at most a quarter full. The upper 24 bits of a key are random, so they
/// serve as the hash. Internal to KeyTable.
///
/// One writer, any number of readers. A used slot never becomes empty again (that would break probe sequences of
/// readers); removal leaves a tombstone, and rebuilding the table drops tombstones.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "datapath/memory/key_entry.h"

namespace verbline::memory {

class KeySlots {
public:
    /// Has room for one and a half times `entries`.
    explicit KeySlots(std::size_t entries)
        : mask_(std::bit_ceil(entries * 6 + 16) - 1), slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

    /// The entry with this index, or null; for index 0 it may be the tombstone.
    KeyEntry* find(std::uint32_t index) const noexcept {
        for (auto at = index & mask_;; at = (at + 1) & mask_) {
            auto* const entry = slots_[at].load(std::memory_order_acquire);
            if (entry == nullptr || entry->index() == index) return entry;
        }
    }
    bool full() const { return (used_ + 1) * 4 > mask_ + 1; }

    /// Requires that `full()` is false and the index is not in the table.
    void insert(KeyEntry& entry) {
        auto at = entry.index() & mask_;
        while (slots_[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & mask_;
        slots_[at].store(&entry, std::memory_order_release);
        ++used_;
    }
    /// Puts `by` where `entry` is: its successor under the same key, or the tombstone.
    void replace(const KeyEntry& entry, KeyEntry& by) {
        auto at = entry.index() & mask_;
        while (slots_[at].load(std::memory_order_relaxed) != &entry) at = (at + 1) & mask_;
        slots_[at].store(&by, std::memory_order_release);
    }
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t at = 0; at <= mask_; ++at)
            if (auto* const entry = slots_[at].load(std::memory_order_relaxed)) visit(*entry);
    }

private:
    using Slot = std::atomic<KeyEntry*>;

    std::size_t mask_;
    std::unique_ptr<Slot[]> slots_;
    std::size_t used_ = 0;  ///< tombstones count
};

}  // namespace verbline::memory
