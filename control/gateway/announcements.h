// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Tells the hosts of a link again and again where our addresses are now: some miss the first announcement.
///
/// On the control thread; must not outlive the loop.

#include <functional>
#include <utility>

#include "control/loop/loop.h"
#include "pmd/base/time.h"

namespace verbline::gateway {

class Announcements {
public:
    static constexpr unsigned count = 3;
    static constexpr Time interval = 300 * millisecond;

    /// `announce` is called for each.
    Announcements(control::Loop& loop, std::function<void()> announce) : loop_(loop), announce_(std::move(announce)) {}
    Announcements(const Announcements&) = delete;
    Announcements& operator=(const Announcements&) = delete;

    /// So many, the first after an interval. What is left of those before is dropped.
    void begin() {
        left_ = count;
        timer_ = loop_.every(interval, [this] {
            announce_();
            if (--left_ == 0) timer_.cancel();
        });
    }

private:
    control::Loop& loop_;
    const std::function<void()> announce_;
    unsigned left_ = 0;
    control::Timer timer_;
};

}  // namespace verbline::gateway
