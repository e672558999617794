// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Wait time that an RNR NAK imposes on the requester (IBTA volume 1, 9.7.5.2.8, table 46).

#include <array>
#include <cstdint>

#include "pmd/base/time.h"

namespace verbline::transport {

/// `code`: the five-bit timer field of an RNR NAK. Returns nanoseconds.
constexpr Time rnr_delay(std::uint8_t code) {
    constexpr std::array<std::uint32_t, 32> hundredths_of_ms{
        65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
        256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    return hundredths_of_ms[code % 32] * 10 * microsecond;
}

}  // namespace verbline::transport
