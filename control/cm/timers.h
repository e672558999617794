// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// When sessions are due: a timing wheel for each part of them, with a lock each, so that arming takes none in common.

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
    /// `part`: any number that stays the timer's.
    void arm(timer::Timer& timer, std::size_t part, Time deadline, Time now);
    void cancel(timer::Timer& timer, std::size_t part);

    /// The sessions that are due; those that are going away are left out.
    std::vector<Reference<Session>> due(Time now);
    std::optional<Time> deadline();

private:
    static constexpr std::size_t part_count = 16;

    struct alignas(64) Part {
        std::mutex mutex;
        std::unique_ptr<timer::Wheel> wheel;  ///< begins with the first timer
    };
    std::array<Part, part_count> parts_;
};

}  // namespace verbline::cm
