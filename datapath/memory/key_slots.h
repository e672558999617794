// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The hash of KeyTable: open addressing, at most a quarter full. The upper 24 bits of a key are random, so they are
/// their own hash. Internal to KeyTable.
///
/// One thread writes, any number reads. A slot once used is never empty again (that would cut chains that readers
/// walk); removal leaves a tombstone, and tombstones go when the table is built anew.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "datapath/memory/key_entry.h"

namespace verbline::memory {

class KeySlots {
public:
    /// Room for `entries` and half as many again.
    explicit KeySlots(std::size_t entries)
        : mask_(std::bit_ceil(entries * 6 + 16) - 1), slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

    /// The entry of this index; the tombstone may stand for index 0.
    KeyEntry* find(std::uint32_t index) const noexcept {
        for (auto at = index & mask_;; at = (at + 1) & mask_) {
            auto* const entry = slots_[at].load(std::memory_order_acquire);
            if (entry == nullptr || entry->index() == index) return entry;
        }
    }
    bool full() const { return (used_ + 1) * 4 > mask_ + 1; }

    /// `full()` is false and the index is not yet there.
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
