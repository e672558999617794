// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The ids of a service, indexed by number, event queue, communication endpoint and deadline. All lookups are hashed or
/// ordered; none scans all ids.

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "control/rdmacm/id.h"

namespace verbline::rdmacm {

class IdTable {
public:
    Id& create(EventQueue& queue, std::uint64_t user, PortSpace space, QueuePairType type);
    /// Returns null if no such id exists.
    Id* find(IdNumber number);
    const Id* find(IdNumber number) const;
    void erase(Id& id);

    void move(Id& id, EventQueue& queue);
    std::vector<IdNumber> of(EventQueue& queue) const;

    /// Associates the id with its communication endpoint; null drops the association.
    void attach(Id& id, cm::EndpointPointer endpoint);
    Id* find(const cm::Endpoint& endpoint);

    void wait_until(Id& id, std::optional<Time> deadline);
    std::optional<Time> deadline() const;
    /// An id whose deadline has passed, its deadline cleared; null: none.
    Id* expired(Time now);

    /// Visits all ids in unspecified order; `visit` must not create or erase.
    template <class Visitor>
    void each(Visitor visit) const {
        for (const auto& [number, id] : ids_) visit(*id);
    }
    std::size_t size() const { return ids_.size(); }

private:
    std::unordered_map<IdNumber, std::unique_ptr<Id>> ids_;
    std::unordered_map<EventQueue*, std::unordered_set<IdNumber>> by_queue_;
    std::unordered_map<const cm::Endpoint*, IdNumber> by_endpoint_;
    std::set<std::pair<Time, IdNumber>> deadlines_;
    std::uint32_t last_ = 0;
};

}  // namespace verbline::rdmacm
