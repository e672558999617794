// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIGINT and SIGTERM, for a thread that has nothing to do but to wait.

#include <csignal>
#include <ctime>

#include "pmd/base/time.h"

namespace verbline::bench {

/// Create before any other thread exists: threads inherit the blocked signals.
class SignalWait {
public:
    SignalWait() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }

    /// Waits so long, or until one of them comes. From the first on, true at once.
    bool wait(Time time) {
        const timespec span{.tv_sec = time / second, .tv_nsec = time % second};
        if (!arrived_) arrived_ = sigtimedwait(&set_, nullptr, &span) > 0;
        return arrived_;
    }

private:
    sigset_t set_{};
    bool arrived_ = false;
};

}  // namespace verbline::bench
