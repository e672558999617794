// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The clocks that time is read from, by those who are allowed to: loops, devices, programs.

#include <time.h>

#include "pmd/base/time.h"

namespace verbline {

inline Time read_clock(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return t.tv_sec * second + t.tv_nsec;
}

/// What engines are given: never goes back.
inline Time monotonic_now() {
    return read_clock(CLOCK_MONOTONIC);
}
/// Nanoseconds since 1970 (UTC), for people and capture files.
inline Time utc_now() {
    return read_clock(CLOCK_REALTIME);
}

}  // namespace verbline
