// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/listeners.h"

#include <algorithm>

namespace verbline::cm {

bool Listeners::free(std::uint64_t service, std::uint64_t mask) const {
    {
        const std::lock_guard lock(ranges_mutex_);
        if (std::ranges::any_of(ranges_, [&](const Range& range) { return range.meets(service, mask); })) return false;
    }
    if (mask == exact) {
        const auto& part = parts_[service % part_count];
        const std::lock_guard lock(part.mutex);
        return !part.ids.contains(service);
    }
    return std::ranges::none_of(parts_, [&](const Part& part) {
        const std::lock_guard lock(part.mutex);
        return std::ranges::any_of(part.ids, [&](const auto& one) { return ((one.first ^ service) & mask) == 0; });
    });
}

bool Listeners::insert(wire::CmServiceId service_id, std::uint64_t mask, std::uint32_t id) {
    const auto service = static_cast<std::uint64_t>(service_id);
    const std::lock_guard change(changes_);
    if (!free(service, mask)) return false;
    if (mask == exact) {
        auto& part = parts_[service % part_count];
        const std::lock_guard lock(part.mutex);
        part.ids.emplace(service, id);
        return true;
    }
    const std::lock_guard lock(ranges_mutex_);
    ranges_.push_back({.service = service, .mask = mask, .id = id});
    range_count_ = ranges_.size();
    return true;
}

void Listeners::erase(wire::CmServiceId service_id, std::uint64_t mask, std::uint32_t id) {
    const auto service = static_cast<std::uint64_t>(service_id);
    const std::lock_guard change(changes_);
    if (mask == exact) {
        auto& part = parts_[service % part_count];
        const std::lock_guard lock(part.mutex);
        if (const auto it = part.ids.find(service); it != part.ids.end() && it->second == id) part.ids.erase(it);
        return;
    }
    const std::lock_guard lock(ranges_mutex_);
    std::erase_if(ranges_, [&](const Range& range) { return range.id == id; });
    range_count_ = ranges_.size();
}

std::uint32_t Listeners::find(wire::CmServiceId service_id) const {
    const auto service = static_cast<std::uint64_t>(service_id);
    {
        const auto& part = parts_[service % part_count];
        const std::lock_guard lock(part.mutex);
        if (const auto it = part.ids.find(service); it != part.ids.end()) return it->second;
    }
    if (range_count_ == 0) return 0;
    const std::lock_guard lock(ranges_mutex_);
    const auto it = std::ranges::find_if(ranges_, [&](const Range& range) { return range.meets(service, exact); });
    return it == ranges_.end() ? 0 : it->id;
}

}  // namespace verbline::cm
