// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Things by an id that the table gives out.
///
/// Ids are given in order, from a start that the owner chooses: one comes again after four thousand million others. The
/// low bits of an id name its part and, within it, its slot, so that finding is one look at one place; an id whose slot
/// is taken is passed over.
///
///     id   | passed over or not | slot in part | part |
///
/// A part grows slot by slot (linear hashing: W. Litwin, 1980), so that nobody ever waits for it to be moved: slot n
/// comes into being by taking from slot n - 2^k, the one which stood for both, what belongs to it. Slots stay where
/// they are; their memory comes in segments, each as large as all before it, that the parts have in common.
///
/// Among many things finding one is waiting for memory: for its slot, then for itself. Who has several to find asks for
/// all first: `prefetch`, then `prefetch_value`, then `find` (Core::receive does).
///
/// Threads: any; each part has a lock.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "control/cm/reference.h"
#include "control/cm/zeroed_array.h"

namespace verbline::cm {

/// `Value` is Counted.
template <class Value>
class IdTable {
public:
    static constexpr std::size_t part_count = 16;

    explicit IdTable(std::uint32_t first) : next_(first) {
        segments_[0] = ZeroedArray<Slot>(part_count * first_slots);
        starts_[0] = segments_[0].data();
        for (auto& part : parts_) part.slots = first_slots;
    }
    IdTable(const IdTable&) = delete;
    IdTable& operator=(const IdTable&) = delete;
    ~IdTable() {
        for (const auto& value : all()) std::ignore = Reference<Value>::adopt(value.get());
    }

    /// `make(id)` gives a Reference, under the part's lock.
    template <class Make>
    Reference<Value> insert(Make&& make) {
        for (;;) {
            const auto id = next_.fetch_add(1, std::memory_order_relaxed);
            if (id == 0) continue;
            auto& part = parts_[id % part_count];
            const std::lock_guard lock(part.mutex);
            // Two for one: in the long run a quarter is free.
            for (int i = 0; i < 2 && part.used >= part.slots / 4 * 3; ++i) split(id % part_count);
            auto& slot = *slot_of(id);
            if (slot.value != nullptr) continue;
            Reference<Value> value = make(id);
            write(slot, id, Reference(value).release());
            ++part.used;
            size_.fetch_add(1, std::memory_order_relaxed);
            return value;
        }
    }

    Reference<Value> find(std::uint32_t id) const {
        const std::lock_guard lock(parts_[id % part_count].mutex);
        const auto& slot = *slot_of(id);
        return slot.id == id ? Reference<Value>::to(slot.value) : Reference<Value>();
    }

    /// Soon `prefetch_value` will be called, or `find`.
    void prefetch(std::uint32_t id) const noexcept { __builtin_prefetch(slot_of(id)); }
    /// Soon `find` will be called: `prefetch(value)` asks for the parts of it that will be needed. It gets an address
    /// where there may be nothing any more, which must not be looked at.
    template <class Prefetch>
    void prefetch_value(std::uint32_t id, Prefetch&& prefetch) const noexcept {
        auto& slot = *slot_of(id);
        if (std::atomic_ref(slot.id).load(std::memory_order_relaxed) != id) return;
        const Value* const value = std::atomic_ref(slot.value).load(std::memory_order_relaxed);
        if (value != nullptr) prefetch(value);
    }

    void erase(std::uint32_t id) {
        Reference<Value> last;  // goes after the lock
        auto& part = parts_[id % part_count];
        const std::lock_guard lock(part.mutex);
        auto& slot = *slot_of(id);
        if (slot.id != id || slot.value == nullptr) return;
        last = Reference<Value>::adopt(slot.value);
        write(slot, 0, nullptr);
        --part.used;
        size_.fetch_sub(1, std::memory_order_relaxed);
    }

    std::size_t size() const { return size_.load(std::memory_order_relaxed); }

    /// All that are there while it is read, which is part by part.
    std::vector<Reference<Value>> all() const {
        std::vector<Reference<Value>> values;
        values.reserve(size());
        for (std::size_t number = 0; number < part_count; ++number) {
            const std::lock_guard lock(parts_[number].mutex);
            for (std::size_t i = 0; i < parts_[number].slots; ++i) {
                const auto& slot = *slot_at(number, i);
                if (slot.value != nullptr) values.push_back(Reference<Value>::to(slot.value));
            }
        }
        return values;
    }

private:
    static constexpr std::size_t first_slots = 4, segment_count = 28;  ///< in all, one for each id there is

    struct Slot {
        std::uint32_t id;
        Value* value;  ///< its reference is counted
    };
    struct alignas(64) Part {
        mutable std::mutex mutex;
        std::size_t used = 0;
        std::atomic<std::size_t> slots = 0;  ///< read without the lock to prefetch: a wrong guess costs only time
    };

    static void write(Slot& slot, std::uint32_t id, Value* value) {
        std::atomic_ref(slot.id).store(id, std::memory_order_relaxed);
        std::atomic_ref(slot.value).store(value, std::memory_order_relaxed);
    }

    /// Where an id stands if the part has so many slots.
    static std::size_t index_of(std::uint32_t id, std::size_t slots) {
        const auto mask = std::bit_ceil(slots) - 1;
        const auto index = id / part_count & mask;
        return index < slots ? index : index & mask / 2;
    }
    Slot* slot_of(std::uint32_t id) const {
        const auto part = id % part_count;
        return slot_at(part, index_of(id, parts_[part].slots.load(std::memory_order_acquire)));
    }
    /// Segment 0 has four slots of each part; segment k those from 4 * 2^(k-1) on.
    Slot* slot_at(std::size_t part, std::size_t index) const {
        const auto segment = static_cast<std::size_t>(std::bit_width(index / first_slots));
        const auto first = segment == 0 ? 0 : first_slots << (segment - 1);
        const auto count = segment == 0 ? first_slots : first;
        return starts_[segment].load(std::memory_order_acquire) + part * count + (index - first);
    }

    /// One slot more, under the part's lock.
    void split(std::size_t number) {
        auto& part = parts_[number];
        const std::size_t slots = part.slots;
        if (std::has_single_bit(slots)) need_segment(static_cast<std::size_t>(std::bit_width(slots / first_slots)));
        auto& from = *slot_at(number, slots - std::bit_floor(slots));
        const auto moved = from;
        if (moved.value != nullptr && index_of(moved.id, slots + 1) == slots) {
            write(*slot_at(number, slots), moved.id, moved.value);
            write(from, 0, nullptr);
        }
        part.slots.store(slots + 1, std::memory_order_release);
    }
    /// The first part that needs one makes it for all.
    void need_segment(std::size_t number) {
        const std::lock_guard lock(segments_mutex_);
        if (starts_[number] != nullptr) return;
        segments_[number] = ZeroedArray<Slot>(part_count * first_slots << (number - 1));
        starts_[number].store(segments_[number].data(), std::memory_order_release);
    }

    std::atomic<std::uint32_t> next_;
    std::atomic<std::size_t> size_ = 0;
    std::array<std::atomic<Slot*>, segment_count> starts_{};
    std::array<Part, part_count> parts_;
    std::mutex segments_mutex_;
    std::array<ZeroedArray<Slot>, segment_count> segments_;
};

}  // namespace verbline::cm
