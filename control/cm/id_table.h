// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Things by an id that the table gives out.
///
/// Ids are given in order, from a start that the owner chooses: one comes again after four thousand million others. The
/// low bits of an id name its part and, within it, its slot, so that finding is one look at one place; an id whose slot
/// is taken is passed over.
///
///     id   | passed over or not | slot in part | part |      parts grow by doubling: what was apart stays apart
///
/// Threads: any; each part has a lock.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace verbline::cm {

/// `Value`: a pointer of some kind; an empty one is nothing.
template <class Value>
class IdTable {
public:
    static constexpr std::size_t part_count = 16;

    explicit IdTable(std::uint32_t first) : next_(first) {}

    /// `make(id)` gives the value, under the part's lock.
    template <class Make>
    Value insert(Make&& make) {
        for (;;) {
            const auto id = next_.fetch_add(1, std::memory_order_relaxed);
            if (id == 0) continue;
            auto& part = parts_[id % part_count];
            const std::lock_guard lock(part.mutex);
            if (part.used >= part.slots.size() / 4 * 3) part.grow();
            auto& slot = part.slots[part.index(id)];
            if (slot.value) continue;
            slot = {.id = id, .value = make(id)};
            ++part.used;
            size_.fetch_add(1, std::memory_order_relaxed);
            return slot.value;
        }
    }

    Value find(std::uint32_t id) const {
        const auto& part = parts_[id % part_count];
        const std::lock_guard lock(part.mutex);
        const auto& slot = part.slots[part.index(id)];
        return slot.id == id ? slot.value : Value{};
    }

    void erase(std::uint32_t id) {
        Value last;  // goes after the lock
        auto& part = parts_[id % part_count];
        const std::lock_guard lock(part.mutex);
        auto& slot = part.slots[part.index(id)];
        if (slot.id != id || !slot.value) return;
        last = std::move(slot.value);
        slot = {};
        --part.used;
        size_.fetch_sub(1, std::memory_order_relaxed);
    }

    std::size_t size() const { return size_.load(std::memory_order_relaxed); }

    /// All that are there while it is read, which is part by part.
    std::vector<Value> all() const {
        std::vector<Value> values;
        values.reserve(size());
        for (const auto& part : parts_) {
            const std::lock_guard lock(part.mutex);
            for (const auto& slot : part.slots) {
                if (slot.value) values.push_back(slot.value);
            }
        }
        return values;
    }

private:
    struct Slot {
        std::uint32_t id = 0;
        Value value{};
    };
    struct alignas(64) Part {
        mutable std::mutex mutex;
        std::vector<Slot> slots = std::vector<Slot>(4);  ///< a power of two
        std::size_t used = 0;

        std::size_t index(std::uint32_t id) const { return id / part_count & (slots.size() - 1); }
        void grow() {
            auto old = std::exchange(slots, std::vector<Slot>(slots.size() * 2));
            for (auto& slot : old) {
                if (slot.value) slots[index(slot.id)] = std::move(slot);
            }
        }
    };

    std::atomic<std::uint32_t> next_;
    std::atomic<std::size_t> size_ = 0;
    std::array<Part, part_count> parts_;
};

}  // namespace verbline::cm
