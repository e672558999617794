// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIGINT and SIGTERM, for a thread that polls.

#include <csignal>
#include <ctime>

namespace verbline::forwarder {

/// Create before any other thread exists: threads inherit the blocked signals, which stay pending for `arrived`.
class StopSignals {
public:
    StopSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }

    /// True if one of them is pending, which is consumed. Does not block.
    bool arrived() const {
        constexpr timespec at_once{};
        return sigtimedwait(&set_, nullptr, &at_once) > 0;
    }

private:
    sigset_t set_{};
};

}  // namespace verbline::forwarder
