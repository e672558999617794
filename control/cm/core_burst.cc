// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <optional>

#include "control/cm/core.h"

// Processing of bursts. With many endpoints a MAD misses the cache on its table entry and on the session: some hundred
// nanoseconds each. Prefetching for the whole burst overlaps these misses.

namespace verbline::cm {

namespace {

constexpr std::size_t at_once = 32;  // as many as the CPU can wait for, and a first-level cache holds

}  // namespace

void Core::receive(std::span<const mad::GmpArrival> burst, Time now) {
    saw(now);
    if (burst.size() == 1) return receive_one(burst.front(), {*this, burst.front()}, now);
    while (!burst.empty()) {
        const auto some = burst.first(std::min(burst.size(), at_once));
        burst = burst.subspan(some.size());
        std::array<std::optional<Looked>, at_once> looked;
        for (std::size_t i = 0; i < some.size(); ++i) looked.at(i).emplace(*this, some[i]);
        prefetch(std::span(looked).first(some.size()));
        for (std::size_t i = 0; i < some.size(); ++i) receive_one(some[i], *looked.at(i), now);
    }
}

/// A lookup by id prefetches the id's slot, then the session; one by remote end prefetches that entry first.
void Core::prefetch(std::span<const std::optional<Looked>> burst) const {
    std::array<std::uint32_t, at_once> ids{};
    for (std::size_t i = 0; i < burst.size(); ++i) {
        const auto& [message, sought] = *burst[i];
        if (sought.table != nullptr) {
            sought.table->prefetch(sought.end);
        } else if (message) {
            sessions_.prefetch(ids[i] = message->receiver_id());
        }
    }
    for (std::size_t i = 0; i < burst.size(); ++i) {
        const auto& [table, end] = burst[i]->sought;
        if (table != nullptr) sessions_.prefetch(ids[i] = table->find(end));
    }
    for (const auto id : std::span(ids).first(burst.size())) sessions_.prefetch_value(id, Session::prefetch);
}

}  // namespace verbline::cm
