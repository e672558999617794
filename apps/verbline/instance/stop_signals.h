// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIGINT and SIGTERM stop the loop of a command that runs until then. SIGHUP asks for its configuration to be read
/// again; from a terminal that has gone, or where nothing can be read again, it stops the loop as well.

#include <functional>
#include <memory>

#include "control/loop/loop.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::cli {

class StopSignals {
public:
    /// Call before any other thread exists: threads inherit the blocked signals, so that only the loop receives them.
    /// The loop must outlive this object.
    static Result<StopSignals> watch(control::Loop& loop);
    /// From now on `reload` is called on the loop when a process sends SIGHUP.
    void on_reload(std::function<void()> reload) { *reload_ = std::move(reload); }

private:
    using Reload = std::shared_ptr<std::function<void()>>;

    StopSignals(FileDescriptor descriptor, Reload reload, control::Watch watch)
        : descriptor_(std::move(descriptor)), reload_(std::move(reload)), watch_(std::move(watch)) {}

    FileDescriptor descriptor_;
    Reload reload_;  ///< empty: there is nothing to read again
    control::Watch watch_;
};

}  // namespace verbline::cli
