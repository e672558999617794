// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/forwarding_table.h"

#include <algorithm>

namespace verbline::pmd {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

std::uint64_t ForwardingTable::age_of(Entry entry) const {
    return (now_.load(relaxed) - entry) & age_mask;
}

void ForwardingTable::learn(std::uint64_t mac, unsigned member) {
    const Entry fresh = mac << (age_bits + member_bits) | std::uint64_t{member} << age_bits | now_.load(relaxed);
    auto& set = entries_[set_of(mac)];
    auto* place = &set[0];
    std::uint64_t oldest = 0;
    for (auto& slot : set) {
        const auto entry = slot.load(relaxed);
        if (mac_of(entry) == mac) {
            if (entry != fresh) slot.store(fresh, relaxed);  // an unchanged line stays clean in every cache
            return;
        }
        const auto age = entry == 0 ? ~std::uint64_t{0} : age_of(entry);
        if (age <= oldest) continue;
        place = &slot;
        oldest = age;
    }
    place->store(fresh, relaxed);
}

std::optional<unsigned> ForwardingTable::find(std::uint64_t mac) const {
    for (const auto& slot : entries_[set_of(mac)]) {
        const auto entry = slot.load(relaxed);
        if (mac_of(entry) == mac) return member_of(entry);
    }
    return std::nullopt;
}

template <class Stale>
void ForwardingTable::drop_if(Stale stale) {
    for (auto& set : entries_) {
        for (auto& slot : set) {
            auto entry = slot.load(relaxed);
            if (entry != 0 && stale(entry)) slot.compare_exchange_strong(entry, 0, relaxed);  // unless just relearned
        }
    }
}

void ForwardingTable::expire(Time now) {
    constexpr auto limit = static_cast<std::uint64_t>(max_age / second);
    now_.store(static_cast<std::uint64_t>(now / second) & age_mask, relaxed);
    drop_if([&](Entry entry) { return age_of(entry) > limit; });
}

void ForwardingTable::forget(unsigned member) {
    drop_if([&](Entry entry) { return member_of(entry) == member; });
}

std::size_t ForwardingTable::size() const {
    std::size_t count = 0;
    for (const auto& set : entries_) {
        count += static_cast<std::size_t>(
            std::ranges::count_if(set, [](const auto& slot) { return slot.load(relaxed) != 0; }));
    }
    return count;
}

}  // namespace verbline::pmd
