// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A loop that runs on a thread of its own: the control thread at the other end of what a test opens and closes.

#include <semaphore>
#include <thread>

#include "control/loop/loop.h"
#include "tests/support/faults.h"

namespace verbline::test {

class LoopThread {
public:
    explicit LoopThread(control::Loop& loop) : loop_(loop), thread_([&loop] { loop.run(); }) {}
    ~LoopThread() { stop(); }
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

    void stop() {
        if (!thread_.joinable()) return;
        loop_.stop();
        thread_.join();
    }

    /// Waits until the loop has dealt with what happened before. A round may be under way already; in the next one a
    /// connection is accepted, and in the one after that it is found closed.
    void settle() {
        for (int round = 0; round < 3; ++round) {
            std::binary_semaphore done{0};
            loop_.post([&done] { done.release(); });
            done.acquire();
        }
    }

    /// Settles at the end of its scope, however that is left.
    class SettleAtEnd {
    public:
        explicit SettleAtEnd(LoopThread& thread) : thread_(thread) {}
        ~SettleAtEnd() {
            const WithoutFaults settling;
            thread_.settle();
        }
        SettleAtEnd(const SettleAtEnd&) = delete;
        SettleAtEnd& operator=(const SettleAtEnd&) = delete;

    private:
        LoopThread& thread_;
    };

private:
    control::Loop& loop_;
    std::thread thread_;
};

}  // namespace verbline::test
