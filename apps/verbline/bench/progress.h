// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The line of progress, on standard error: in place on a terminal, else a line for each interval that was asked for.

#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

#include "apps/verbline/bench/report.h"

namespace verbline::bench {

class Progress {
public:
    /// 0: each second on a terminal, elsewhere never.
    Progress(const PacketPlan& plan, Time interval)
        : plan_(plan),
          in_place_(interval == 0 && isatty(STDERR_FILENO) != 0),
          interval_(in_place_ ? second : interval) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() {
        if (in_place_ && shown_ > 0) fmt::print(stderr, "\n");
    }

    void show(const Volume& tx, const Volume& rx, Time elapsed) {
        if (interval_ == 0 || elapsed - shown_ < interval_) return;
        const auto line = progress_line(plan_, tx - tx_, rx - rx_, elapsed - shown_, elapsed);
        fmt::print(stderr, "{}{}{}", in_place_ ? "\r" : "", line, in_place_ ? "   " : "\n");
        std::fflush(stderr);
        tx_ = tx, rx_ = rx, shown_ = elapsed;
    }

private:
    const PacketPlan& plan_;
    bool in_place_;
    Time interval_;
    Volume tx_, rx_;  ///< at the last line
    Time shown_ = 0;
};

}  // namespace verbline::bench
