// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The kernel's next-hop objects (`ip nexthop`), as a routing daemon uses them: routes refer to them by number, so that
/// a change of an object changes all of its routes.
///
///     route ── RTA_NH_ID ──> group 20 ──┬─ weight 1 ──> hop 7: via 10.1.0.2 dev lan
///                                       └─ weight 3 ──> hop 8: via 10.2.0.2 dev ib0
///
/// Objects may refer to ones that are not known: those lead nowhere.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "control/host/kernel_event.h"

namespace verbline::host {

class NextHopObjects {
public:
    /// Adds an object, or replaces it. False: it was known.
    bool set(const NextHopObject& object);
    /// False: it was not there.
    bool remove(std::uint32_t id) { return objects_.erase(id) > 0; }
    void clear() { objects_.clear(); }

    /// The object and the groups that it is in.
    std::set<std::uint32_t> affected_by(std::uint32_t id) const;
    bool is_blackhole(std::uint32_t id) const;
    /// Where a route that refers to the object leads. Address: of the route's family.
    template <class Address>
    std::vector<BasicHop<Address>> hops(std::uint32_t id) const;

private:
    std::map<std::uint32_t, NextHopObject> objects_;
};

}  // namespace verbline::host
