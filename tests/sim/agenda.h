// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What is to happen at which virtual time; at the same time in the order in which it was planned.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "pmd/base/time.h"

namespace verbline::sim {

class Agenda {
public:
    explicit Agenda(Time now) : now_(now) {}

    Time now() const { return now_; }
    bool empty() const { return actions_.empty(); }
    void at(Time time, std::function<void()> act) { actions_.push({std::max(time, now_), order_++, std::move(act)}); }
    void after(Time delay, std::function<void()> act) { at(now_ + delay, std::move(act)); }
    /// The next one; there is one.
    void run_next() {
        const auto act = std::move(const_cast<Action&>(actions_.top()).act);  // it goes at once
        now_ = actions_.top().at;
        actions_.pop();
        act();
    }
    void clear() { actions_ = {}; }

private:
    struct Action {
        Time at;
        std::uint64_t order;
        std::function<void()> act;
        bool operator<(const Action& other) const { return at != other.at ? at > other.at : order > other.order; }
    };

    Time now_;
    std::uint64_t order_ = 0;
    std::priority_queue<Action> actions_;
};

}  // namespace verbline::sim
