// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIGINT and SIGTERM, asked for by a thread that polls.

#include <csignal>
#include <ctime>

namespace verbline::forwarder {

/// Make it before any other thread exists: all inherit that the signals are blocked, and wait here.
class StopSignals {
public:
    StopSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }

    /// Does not wait.
    bool arrived() const {
        constexpr timespec at_once{};
        return sigtimedwait(&set_, nullptr, &at_once) > 0;
    }

private:
    sigset_t set_{};
};

}  // namespace verbline::forwarder
