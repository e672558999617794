// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/remote_table.h"

#include <utility>

namespace verbline::cm {

void RemoteTable::Hint::set(const RemoteArray& array) {
    start.store(array.data(), std::memory_order_relaxed);
    mask.store(array.size() == 0 ? 0 : array.size() - 1, std::memory_order_relaxed);
}

void RemoteTable::Hint::prefetch(std::uint64_t hash) const noexcept {
    const auto* const entries = start.load(std::memory_order_relaxed);
    if (entries == nullptr) return;
    const auto* const home = entries + (hash & mask.load(std::memory_order_relaxed));
    __builtin_prefetch(home);
    // A displaced entry is mostly next to its home: perhaps in the next cache line.
    __builtin_prefetch(home + 1);
}

RemoteTable::RemoteTable(std::uint64_t seed) : hash_(seed) {
    for (auto& part : parts_) {
        part.current = RemoteArray(first_size);
        part.current_hint.set(part.current);
    }
}

RemoteEntry* RemoteTable::find(Part& part, const RemoteEnd& end, std::uint64_t hash) {
    if (auto* const entry = part.current.find(end, place_hash(hash))) return entry;
    return part.old.find(end, place_hash(hash));
}

void RemoteTable::prefetch(const RemoteEnd& end) const noexcept {
    const auto hash = hash_(end);
    const auto& part = parts_[hash % part_count];
    part.current_hint.prefetch(place_hash(hash));
    part.old_hint.prefetch(place_hash(hash));
}

std::uint32_t RemoteTable::find(const RemoteEnd& end) const {
    const auto hash = hash_(end);
    const auto& part = parts_[hash % part_count];
    const std::lock_guard lock(part.mutex);
    if (const auto* const entry = part.current.find(end, place_hash(hash))) return entry->id;
    const auto* const entry = part.old.find(end, place_hash(hash));
    return entry == nullptr ? 0 : entry->id;
}

std::uint32_t RemoteTable::insert(const RemoteEnd& end, std::uint32_t id) {
    const auto hash = hash_(end);
    auto& part = parts_[hash % part_count];
    const std::lock_guard lock(part.mutex);
    if (const auto* const entry = find(part, end, hash)) return entry->id;
    if (part.current.full()) grow(part);
    move_some(part);
    part.current.insert({.owner = end.owner, .gid = end.gid, .number = end.number, .id = id}, place_hash(hash));
    return id;
}

bool RemoteTable::replace(const RemoteEnd& end, std::uint32_t old, std::uint32_t id) {
    const auto hash = hash_(end);
    auto& part = parts_[hash % part_count];
    const std::lock_guard lock(part.mutex);
    auto* const entry = find(part, end, hash);
    if (entry == nullptr || entry->id != old) return false;
    entry->id = id;
    return true;
}

void RemoteTable::erase(const RemoteEnd& end, std::uint32_t id) {
    const auto hash = hash_(end);
    auto& part = parts_[hash % part_count];
    const std::lock_guard lock(part.mutex);
    auto* const current = part.current.find(end, place_hash(hash));
    auto* const entry = current != nullptr ? current : part.old.find(end, place_hash(hash));
    if (entry == nullptr || entry->id != id) return;
    (current != nullptr ? part.current : part.old).erase(entry, [this](const RemoteEnd& other) {
        return place_hash(hash_(other));
    });
}

std::size_t RemoteTable::size() const {
    std::size_t sum = 0;
    for (const auto& part : parts_) {
        const std::lock_guard lock(part.mutex);
        sum += part.current.used() + part.old.used();
    }
    return sum;
}

/// The old array is empty by now: it was moved while the current one was filled.
void RemoteTable::grow(Part& part) {
    part.old = std::exchange(part.current, RemoteArray(part.current.size() * 2));
    part.next_run = part.old.first_run();
    part.current_hint.set(part.current);
    part.old_hint.set(part.old);
}

void RemoteTable::move_some(Part& part) {
    if (part.old.size() == 0) return;
    part.next_run = part.old.take_run(part.next_run, moved_at_once, [&](const RemoteEntry& entry) {
        part.current.insert(entry, place_hash(hash_(entry.end())));
    });
    if (part.old.used() != 0) return;
    part.old = RemoteArray();
    part.old_hint.set(part.old);
}

}  // namespace verbline::cm
