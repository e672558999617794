// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The ids of a service, by number, by the queue of their events, by their communication endpoint, and by the time at
/// which they have waited long enough. All lookups are hashed or ordered: none looks at every id.

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
    /// Null: there is none, or no longer.
    Id* find(IdNumber number);
    const Id* find(IdNumber number) const;
    void erase(Id& id);

    void move(Id& id, EventQueue& queue);
    std::vector<IdNumber> of(EventQueue& queue) const;

    /// The endpoint that it is connected, or asks for a connection, with; none: lets go of the one it has.
    void attach(Id& id, cm::EndpointPointer endpoint);
    Id* find(const cm::Endpoint& endpoint);

    void wait_until(Id& id, std::optional<Time> deadline);
    std::optional<Time> deadline() const;
    /// One that has waited long enough, and waits no more; null: none.
    Id* expired(Time now);

    /// Visits all, in no order; `visit` must not create or erase.
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
