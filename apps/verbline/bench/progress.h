// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The progress of a trial: what was sent and received since the last line.

#include "apps/verbline/bench/progress_line.h"
#include "apps/verbline/bench/report.h"

namespace verbline::bench {

class Progress {
public:
    /// As ProgressLine.
    Progress(const PacketPlan& plan, Time interval) : plan_(plan), line_(interval) {}

    void show(const Volume& tx, const Volume& rx, Time elapsed) {
        const auto text = [&](Time span) { return progress_line(plan_, tx - tx_, rx - rx_, span, elapsed); };
        if (line_.show(elapsed, text)) tx_ = tx, rx_ = rx;
    }

private:
    const PacketPlan& plan_;
    ProgressLine line_;
    Volume tx_, rx_;  ///< at the last line
};

}  // namespace verbline::bench
