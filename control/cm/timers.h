// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Timers of sessions: one timing wheel and lock for each sixteenth of them, so that arming takes no common lock.

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "control/cm/reference.h"
#include "datapath/timer/wheel.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class Session;

class Timers {
public:
    /// `part`: any number, the same for all calls about this timer.
    void arm(timer::Timer& timer, std::size_t part, Time deadline, Time now);
    void cancel(timer::Timer& timer, std::size_t part);

    /// The sessions whose timers have expired, without those being deleted.
    std::vector<Reference<Session>> due(Time now);
    std::optional<Time> deadline() const;

private:
    static constexpr std::size_t part_count = 16;

    struct alignas(64) Part {
        mutable std::mutex mutex;
        std::unique_ptr<timer::Wheel> wheel;  ///< made for the first timer
    };
    std::array<Part, part_count> parts_;
};

}  // namespace verbline::cm
