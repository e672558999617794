// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/remote_table.h"

#include <utility>

namespace verbline::cm {

namespace {

/// Both halves of the product: every bit in counts for every bit out.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    __extension__ using Wide = unsigned __int128;
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
    const auto product = static_cast<Wide>(hash ^ word ^ odd) * 0xd1b5'4a32'd192'ed03;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t RemoteTable::hash(const RemoteEnd& end) const {
    auto hash = mix(seed_, end.owner ^ std::uint64_t{end.number} << 32);
    hash = mix(hash, end.gid.prefix());
    return mix(hash, static_cast<std::uint64_t>(end.gid.interface_id()) + end.number);
}

std::size_t RemoteTable::place(const Part& part, const RemoteEnd& end, std::uint64_t hash) {
    auto i = home(hash, part);
    while (part.entries[i].id != 0 && !holds(part.entries[i], end)) i = (i + 1) & part.mask();
    return i;
}

std::uint32_t RemoteTable::find(const RemoteEnd& end) const {
    const auto h = hash(end);
    const auto& part = parts_[h % part_count];
    const std::lock_guard lock(part.mutex);
    return part.entries[place(part, end, h)].id;
}

std::uint32_t RemoteTable::insert(const RemoteEnd& end, std::uint32_t id) {
    const auto h = hash(end);
    auto& part = parts_[h % part_count];
    const std::lock_guard lock(part.mutex);
    if (part.used >= part.entries.size() / 2) grow(part);
    auto& entry = part.entries[place(part, end, h)];
    if (entry.id != 0) return entry.id;
    entry = {.owner = end.owner, .gid = end.gid, .number = end.number, .id = id};
    ++part.used;
    return id;
}

bool RemoteTable::replace(const RemoteEnd& end, std::uint32_t old, std::uint32_t id) {
    const auto h = hash(end);
    auto& part = parts_[h % part_count];
    const std::lock_guard lock(part.mutex);
    auto& entry = part.entries[place(part, end, h)];
    if (entry.id == 0 || entry.id != old) return false;
    entry.id = id;
    return true;
}

void RemoteTable::erase(const RemoteEnd& end, std::uint32_t id) {
    const auto h = hash(end);
    auto& part = parts_[h % part_count];
    const std::lock_guard lock(part.mutex);
    auto hole = place(part, end, h);
    if (part.entries[hole].id == 0 || part.entries[hole].id != id) return;
    // Those behind move up, unless that would take them in front of their home.
    for (auto i = (hole + 1) & part.mask(); part.entries[i].id != 0; i = (i + 1) & part.mask()) {
        const auto& entry = part.entries[i];
        const auto at = home(hash({.owner = entry.owner, .gid = entry.gid, .number = entry.number}), part);
        if (((i - at) & part.mask()) >= ((i - hole) & part.mask())) {
            part.entries[hole] = entry;
            hole = i;
        }
    }
    part.entries[hole] = {};
    --part.used;
}

std::size_t RemoteTable::size() const {
    std::size_t sum = 0;
    for (const auto& part : parts_) {
        const std::lock_guard lock(part.mutex);
        sum += part.used;
    }
    return sum;
}

void RemoteTable::grow(Part& part) const {
    const auto old = std::exchange(part.entries, std::vector<Entry>(part.entries.size() * 2));
    for (const auto& entry : old) {
        if (entry.id == 0) continue;
        const RemoteEnd end{.owner = entry.owner, .gid = entry.gid, .number = entry.number};
        part.entries[place(part, end, hash(end))] = entry;
    }
}

}  // namespace verbline::cm
