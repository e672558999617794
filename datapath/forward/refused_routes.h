// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Routes for which a table had no room. They are kept, and tried again in turn when others have made room: otherwise a
/// full table would lose them until its owner starts anew. Owned by the table's writer.

#include <cstddef>
#include <map>
#include <optional>

namespace verbline::forward {

template <class Prefix, class NextHops>
class RefusedRoutes {
public:
    void add(const Prefix& prefix, const NextHops& next_hops) { routes_.insert_or_assign(prefix, next_hops); }
    void remove(const Prefix& prefix) { routes_.erase(prefix); }
    bool contains(const Prefix& prefix) const { return routes_.contains(prefix); }
    bool empty() const { return routes_.empty(); }
    std::size_t size() const { return routes_.size(); }

    /// Offers the next ones in turn to `install(prefix, next_hops)` until it returns true, and forgets that one. A few
    /// at most, as the room may not be of the kind that they need. Returns whether one was installed.
    template <class Install>
    bool install_one(Install install) {
        constexpr int most = 8;
        for (int i = 0; i < most && !routes_.empty(); ++i) {
            auto next = offered_last_ ? routes_.upper_bound(*offered_last_) : routes_.begin();
            if (next == routes_.end()) next = routes_.begin();
            offered_last_ = next->first;
            if (!install(next->first, next->second)) continue;
            routes_.erase(next);
            return true;
        }
        return false;
    }

private:
    std::map<Prefix, NextHops> routes_;
    std::optional<Prefix> offered_last_;
};

}  // namespace verbline::forward
