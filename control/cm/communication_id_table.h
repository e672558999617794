// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Table of values by ids that the table allocates.
///
/// Ids are allocated in order from a start that the owner chooses and repeat after 2^32, or at the end of a range. The
/// low bits of an id name its part and, within it, its slot, so a lookup reads one slot; allocation skips an id whose
/// slot is taken.
///
///     id   | generation         | slot in part | part |
///
/// A part grows slot by slot (linear hashing: W. Litwin, 1980), so that no insert pays for rehashing a whole part: slot
/// n is created by splitting slot n - 2^k, which held the values of both. Slots never move; their memory comes in
/// segments, each as large as all before it, shared by the parts.
///
/// Cache misses on the slot and then on the value dominate a lookup. To look up several ids call `prefetch` for all,
/// then `prefetch_value` for all, then `find` (Manager::receive does).
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

/// The ids that a table may allocate: those that have the high bits of `base`, above its `bits` low ones.
struct IdRange {
    std::uint32_t base = 0;
    unsigned bits = 32;

    constexpr std::uint32_t id(std::uint32_t number) const {
        return bits >= 32 ? number : base | (number & ((1u << bits) - 1));
    }
};

/// `Value` derives from Counted.
template <class Value>
class CommunicationIdTable {
public:
    static constexpr std::size_t part_count = 16;

    explicit CommunicationIdTable(std::uint32_t first, IdRange range = {}) : next_(first), range_(range) {
        segments_[0] = ZeroedArray<Slot>(part_count * first_slots);
        starts_[0] = segments_[0].data();
        for (auto& part : parts_) part.slots = first_slots;
    }
    CommunicationIdTable(const CommunicationIdTable&) = delete;
    CommunicationIdTable& operator=(const CommunicationIdTable&) = delete;
    ~CommunicationIdTable() {
        for (const auto& value : all()) std::ignore = Reference<Value>::adopt(value.get());
    }

    /// `make(id)` returns a Reference; called under the part's lock.
    template <class Make>
    Reference<Value> insert(Make&& make) {
        for (;;) {
            const auto id = range_.id(next_.fetch_add(1, std::memory_order_relaxed));
            if (id == 0) continue;
            auto& part = parts_[id % part_count];
            const std::lock_guard lock(part.mutex);
            // Two splits per insert keep a quarter of the slots free in the long run.
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

    /// Call before `prefetch_value` or `find`.
    void prefetch(std::uint32_t id) const noexcept { __builtin_prefetch(slot_of(id)); }
    /// Call before `find`: `prefetch(value)` prefetches the parts of the value that will be needed. `value` may already
    /// be freed and must not be dereferenced.
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

    /// A snapshot, taken part by part.
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
    static constexpr std::size_t first_slots = 4, segment_count = 28;  ///< enough slots for all 2^32 ids

    struct Slot {
        std::uint32_t id;
        Value* value;  ///< holds one reference
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

    /// Slot index of an id in a part of `slots` slots.
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

    /// Adds one slot. Called under the part's lock.
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
    /// Allocates a segment for all parts, unless another part has done so.
    void need_segment(std::size_t number) {
        const std::lock_guard lock(segments_mutex_);
        if (starts_[number] != nullptr) return;
        segments_[number] = ZeroedArray<Slot>(part_count * first_slots << (number - 1));
        starts_[number].store(segments_[number].data(), std::memory_order_release);
    }

    std::atomic<std::uint32_t> next_;
    const IdRange range_;
    std::atomic<std::size_t> size_ = 0;
    std::array<std::atomic<Slot*>, segment_count> starts_{};
    std::array<Part, part_count> parts_;
    std::mutex segments_mutex_;
    std::array<ZeroedArray<Slot>, segment_count> segments_;
};

}  // namespace verbline::cm
