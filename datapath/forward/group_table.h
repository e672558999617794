// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Next-hop groups by number, each stored once and reference-counted, as NextHopTable stores next hops. Numbers of
/// groups follow those of next hops, so that a number is either a next hop's or a group's. A group has a reference to
/// each of its members.
///
/// A group that replaces another in a route takes over its slots (group_slots.h).

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "datapath/forward/group_slots.h"
#include "datapath/forward/next_hop.h"
#include "datapath/forward/next_hop_group.h"

namespace verbline::forward {

/// The rules of NextHopTable hold: readers use numbers from the FIB, and a number is reused only after `recycle`.
template <class Address>
class GroupTable {
public:
    using Group = BasicNextHopGroup<Address>;
    using Index = typename NextHopTable<Address>::Index;

    /// Numbers begin with `first`, above all of `hops`, which must outlive the table.
    GroupTable(NextHopTable<Address>& hops, std::size_t first, std::size_t capacity)
        : hops_(hops), first_(first), stored_(new Stored[capacity]), uses_(capacity) {
        for (auto i = capacity; i-- > 0;) free_.push_back(static_cast<Index>(first + i));
    }

    // Readers:

    /// Whether there may be groups. If not, no number is one's.
    bool any() const noexcept { return in_use_.load(std::memory_order_relaxed) > 0; }
    /// Whether a number is that of a group.
    bool holds(Index number) const noexcept { return number >= first_; }
    /// The number of the member that packets of a flow take.
    Index member(Index group, std::uint32_t flow_hash) const noexcept {
        return stored_of(group).by_slot[slot_of(flow_hash)];
    }
    /// The same among members on an interface; if there are none, among all.
    Index member_on(InterfaceId interface, Index group, std::uint32_t flow_hash) const noexcept {
        constexpr std::size_t step = 97;  // far from slots that a member got together; odd, so that it comes by all
        const auto& by_slot = stored_of(group).by_slot;
        for (std::size_t i = 0, slot = slot_of(flow_hash); i < by_slot.size(); ++i, slot += step) {
            const auto number = by_slot[slot % by_slot.size()];
            if (hops_.at(number).interface == interface) return number;
        }
        return member(group, flow_hash);
    }
    /// The numbers of all members.
    std::span<const Index> members(Index group) const noexcept {
        const auto& stored = stored_of(group);
        return std::span(stored.members).first(stored.count);
    }

    // Writer:

    /// Adds a reference to the number of `group`, which has several members, and returns it; none if there is no room.
    /// `before`: the next hop or group that it replaces.
    std::optional<Index> acquire(const Group& group, std::optional<Index> before) {
        const auto known = known_.find(group);
        if (known != known_.end()) {
            ++use_of(known->second).references;
            return known->second;
        }
        if (free_.empty()) return std::nullopt;
        const auto number = free_.back();
        if (!acquire_members(group, stored_of(number))) return std::nullopt;
        free_.pop_back();
        fill_slots(group, stored_of(number), before);
        const auto entry = known_.emplace(group, number).first;
        use_of(number) = {.group = &entry->first, .references = 1};
        in_use_.fetch_add(1, std::memory_order_relaxed);  // before the number is published
        return number;
    }

    /// Returns whether that was the last reference.
    bool release(Index number) {
        auto& use = use_of(number);
        if (--use.references > 0) return false;
        for (const auto member : members(number)) hops_.release(member);  // for as long as this number
        known_.erase(known_.find(*use.group));
        retired_.push_back(number);
        return true;
    }

    /// Makes released numbers available. Call only when no reader holds a number that was released before.
    void recycle() {
        in_use_.fetch_sub(retired_.size(), std::memory_order_relaxed);
        free_.insert(free_.end(), retired_.begin(), retired_.end());
        retired_.clear();
    }

    const Group& at(Index number) const { return *uses_[number - first_].group; }
    std::size_t size() const { return known_.size(); }

private:
    /// What readers need.
    struct Stored {
        std::array<Index, std::tuple_size_v<GroupSlots>> by_slot;
        std::array<Index, Group::max_members> members;
        std::size_t count;
    };
    struct Use {
        const Group* group = nullptr;  ///< the key in `known_`
        std::uint32_t references = 0;
    };

    const Stored& stored_of(Index group) const noexcept { return stored_[group - first_]; }
    Stored& stored_of(Index group) noexcept { return stored_[group - first_]; }
    Use& use_of(Index group) { return uses_[group - first_]; }
    /// By the hash's upper bits: its lower ones have chosen a queue, and with it the shard.
    static std::size_t slot_of(std::uint32_t flow_hash) {
        static_assert(std::tuple_size_v<GroupSlots> == 256);
        return flow_hash >> 24;
    }

    bool acquire_members(const Group& group, Stored& stored) {
        stored.count = 0;
        for (const auto& member : group.members()) {
            const auto number = hops_.acquire(member.hop);
            if (!number) break;
            stored.members[stored.count++] = *number;
        }
        if (stored.count == group.members().size()) return true;
        for (const auto member : std::span(stored.members).first(stored.count)) hops_.release(member);
        return false;
    }

    void fill_slots(const Group& group, Stored& stored, std::optional<Index> before) {
        GroupSlots slots;
        slots.fill(no_member);
        const auto members = std::span(stored.members).first(stored.count);
        for (std::size_t i = 0; before && i < slots.size(); ++i) {
            const auto number = holds(*before) ? stored_of(*before).by_slot[i] : *before;
            const auto member = std::ranges::find(members, number);
            if (member != members.end()) slots[i] = static_cast<std::uint8_t>(member - members.begin());
        }
        std::vector<std::uint32_t> weights;
        for (const auto& member : group.members()) weights.push_back(member.weight);
        share_slots(weights, slots);
        for (std::size_t i = 0; i < slots.size(); ++i) stored.by_slot[i] = members[slots[i]];
    }

    NextHopTable<Address>& hops_;
    std::size_t first_;
    std::unique_ptr<Stored[]> stored_;
    std::vector<Use> uses_;
    std::map<Group, Index> known_;
    std::vector<Index> free_;
    std::vector<Index> retired_;
    std::atomic<std::size_t> in_use_ = 0;  ///< known and retired
};

}  // namespace verbline::forward
