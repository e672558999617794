// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A random number of the system's, for seeds that others must not guess.

#include <cstdint>
#include <random>

namespace verbline {

inline std::uint64_t random_number() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

}  // namespace verbline
