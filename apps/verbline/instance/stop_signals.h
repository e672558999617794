// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIGINT and SIGTERM stop the loop of a command that runs until then.

#include "control/loop/loop.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::cli {

class StopSignals {
public:
    /// Call before any other thread exists: threads inherit the blocked signals, so that only the loop receives them.
    /// The loop must outlive this object.
    static Result<StopSignals> watch(control::Loop& loop);

private:
    StopSignals(FileDescriptor descriptor, control::Watch watch)
        : descriptor_(std::move(descriptor)), watch_(std::move(watch)) {}

    FileDescriptor descriptor_;
    control::Watch watch_;
};

}  // namespace verbline::cli
