// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The multicast groups that are routed, on one shard: which links and which kernels get their packets. Sorted, in one
/// array of a fixed size: nothing is allocated after construction. The control thread keeps the number of groups below
/// the capacity.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace verbline::router {

/// A bit for each port, by its InterfaceId.
using PortSet = std::uint64_t;

/// Groups that are routed, of each family. More: a longer search for each packet to a group.
constexpr std::size_t max_multicast_routes = 1024;

struct MulticastRoute {
    PortSet links = 0;    ///< that a packet goes to, except for the one that it came from
    PortSet kernels = 0;  ///< likewise; the kernel of the link that it came from gets it, too
};

template <class Address>
class MulticastTable {
public:
    explicit MulticastTable(std::size_t capacity = max_multicast_routes) : capacity_(capacity) {
        entries_.reserve(capacity);
    }

    /// Null: the group has no route. Valid until the next `set`.
    const MulticastRoute* find(const Address& group) const {
        const auto place = std::ranges::lower_bound(entries_, group, {}, &Entry::group);
        return place != entries_.end() && place->group == group ? &place->route : nullptr;
    }
    /// An empty route removes the group. False: there is no room.
    bool set(const Address& group, const MulticastRoute& route) {
        const auto place = std::ranges::lower_bound(entries_, group, {}, &Entry::group);
        const bool known = place != entries_.end() && place->group == group;
        if (route.links == 0 && route.kernels == 0) {
            if (known) entries_.erase(place);
        } else if (known) {
            place->route = route;
        } else if (entries_.size() == capacity_) {
            return false;
        } else {
            entries_.insert(place, {group, route});
        }
        return true;
    }
    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        Address group{};
        MulticastRoute route;
    };
    std::size_t capacity_;
    std::vector<Entry> entries_;
};

}  // namespace verbline::router
