// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a poll loop calls in turns: a generator, a sink or a forwarder of one queue.

namespace verbline::traffic {

/// Belongs to the thread that polls it. Others may read its counters.
class Task {
public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;

    /// Returns whether there was something to do.
    virtual bool poll() noexcept = 0;
};

}  // namespace verbline::traffic
