// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How often this process has asked for memory, from malloc, new and their relatives. Whoever calls it must be linked
/// with allocations.cc.

#include <cstdint>

namespace verbline::bench {

std::uint64_t allocations();

}  // namespace verbline::bench
