// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control thread inside a program that knows nothing of it: a loop, on a thread of DPDK's kind, which stays away
/// from the CPUs of lcores where others are allowed, and takes no signal of the program's.

#include <functional>
#include <memory>
#include <string>

#include <pthread.h>

#include "control/loop/loop.h"
#include "pmd/base/error.h"

namespace verbline::net_ipoib {

class ControlThread {
public:
    static Result<std::unique_ptr<ControlThread>> start(const std::string& name);
    ControlThread(const ControlThread&) = delete;
    ControlThread& operator=(const ControlThread&) = delete;
    ~ControlThread();  ///< ends it

    control::Loop& loop() { return *loop_; }
    /// Runs `task` on the thread, and returns when it has run. By other threads only.
    void call(const std::function<void()>& task);

private:
    explicit ControlThread(std::unique_ptr<control::Loop> loop) : loop_(std::move(loop)) {}

    std::unique_ptr<control::Loop> loop_;
    pthread_t thread_{};
    bool runs_ = false;
};

}  // namespace verbline::net_ipoib
