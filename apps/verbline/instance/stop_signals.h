// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How a command that runs until told otherwise is told: SIGINT or SIGTERM stop its loop.

#include "control/loop/loop.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::cli {

class StopSignals {
public:
    /// Before any other thread exists: all inherit that these signals are blocked, and only the loop sees them. The
    /// loop outlives this.
    static Result<StopSignals> watch(control::Loop& loop);

private:
    StopSignals(FileDescriptor descriptor, control::Watch watch)
        : descriptor_(std::move(descriptor)), watch_(std::move(watch)) {}

    FileDescriptor descriptor_;
    control::Watch watch_;
};

}  // namespace verbline::cli
