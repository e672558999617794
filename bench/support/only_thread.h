// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Keeps the other threads of the process from running while the calling thread does: all share one CPU, where the
/// others have the idle policy. For good: they stay so when the object is destroyed.

#include <cstdlib>
#include <filesystem>

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

namespace verbline::bench {

class OnlyThread {
public:
    OnlyThread() {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            const auto thread = static_cast<pid_t>(std::atoi(task.path().filename().c_str()));
            sched_setaffinity(thread, sizeof one, &one);
            const sched_param none{};
            if (thread != gettid()) sched_setscheduler(thread, SCHED_IDLE, &none);
        }
    }
    ~OnlyThread() { sched_setaffinity(0, sizeof before_, &before_); }
    OnlyThread(const OnlyThread&) = delete;
    OnlyThread& operator=(const OnlyThread&) = delete;

private:
    cpu_set_t before_{};
};

}  // namespace verbline::bench
