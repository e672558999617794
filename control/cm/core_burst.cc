// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "control/cm/core.h"

// MADs that come together. With many endpoints nearly nothing that a MAD needs is in a cache: its place in a table, the
// session. Asked for one after another that is a wait of some hundred nanoseconds each; asked for together, one wait
// for all.

namespace verbline::cm {

namespace {

constexpr std::size_t at_once = 32;  // as many as the CPU can wait for, and a first-level cache holds

}  // namespace

void Core::receive(std::span<const mad::GmpArrival> burst, Time now) {
    saw(now);
    while (!burst.empty()) {
        const auto some = burst.first(std::min(burst.size(), at_once));
        burst = burst.subspan(some.size());
        if (some.size() > 1) prefetch(some);
        for (const auto& [from, mad] : some) receive_one(from, mad, now);
    }
}

/// What is found by an id needs the id's slot and then the session; what is found by its remote end needs that first.
void Core::prefetch(std::span<const mad::GmpArrival> burst) const {
    std::array<std::uint32_t, at_once> ids{};
    std::array<Sought, at_once> sought;
    for (std::size_t i = 0; i < burst.size(); ++i) {
        const auto message = Incoming::parse(burst[i].mad);
        if (!message) continue;
        sought[i] = by_remote_end(*message, burst[i].from);
        if (sought[i].table != nullptr) {
            sought[i].table->prefetch(sought[i].end);
        } else {
            sessions_.prefetch(ids[i] = message->receiver_id());
        }
    }
    for (std::size_t i = 0; i < burst.size(); ++i) {
        const auto [table, end] = sought[i];
        if (table != nullptr) sessions_.prefetch(ids[i] = table->find(end));
    }
    for (const auto id : std::span(ids).first(burst.size())) sessions_.prefetch_value(id, Session::prefetch);
}

}  // namespace verbline::cm
