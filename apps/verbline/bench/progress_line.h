// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// When and where a line of progress is due, on standard error: in place on a terminal, else a line for each interval
/// that was asked for.

#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

#include "pmd/base/time.h"

namespace verbline::bench {

class ProgressLine {
public:
    /// 0: each second on a terminal, elsewhere never.
    explicit ProgressLine(Time interval)
        : in_place_(interval == 0 && isatty(STDERR_FILENO) != 0), interval_(in_place_ ? second : interval) {}
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine() {
        if (in_place_ && shown_ > 0) fmt::print(stderr, "\n");
    }

    /// `text` makes the line, if one is due after `elapsed`, from the time since the last one. True: it was.
    template <class Text>
    bool show(Time elapsed, Text text) {
        if (interval_ == 0 || elapsed - shown_ < interval_) return false;
        fmt::print(stderr, "{}{}{}", in_place_ ? "\r" : "", text(elapsed - shown_), in_place_ ? "   " : "\n");
        std::fflush(stderr);
        shown_ = elapsed;
        return true;
    }

private:
    bool in_place_;
    Time interval_;
    Time shown_ = 0;
};

}  // namespace verbline::bench
