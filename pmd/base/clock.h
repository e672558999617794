// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reads the system's clocks, for poll loops, devices and programs. Engines take the time as an argument instead
/// (time.h).

#include <time.h>

#include "pmd/base/time.h"

namespace verbline {

inline Time read_clock(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return t.tv_sec * second + t.tv_nsec;
}

/// Nanoseconds of CLOCK_MONOTONIC: the time that engines are given.
inline Time monotonic_now() {
    return read_clock(CLOCK_MONOTONIC);
}
/// Nanoseconds since 1970 (UTC), for people and capture files.
inline Time utc_now() {
    return read_clock(CLOCK_REALTIME);
}

}  // namespace verbline
