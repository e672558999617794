// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Time as engines are given it: nanoseconds of the caller's monotonic clock. Engines never read a clock.

#include <cstdint>

namespace verbline {

using Time = std::int64_t;  ///< nanoseconds

constexpr Time microsecond = 1'000, millisecond = 1'000'000, second = 1'000'000'000;

}  // namespace verbline
