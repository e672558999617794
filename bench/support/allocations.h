// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Counts the calls of malloc, new and their relatives in this process. A benchmark that uses it must be linked with
/// allocations.cc.

#include <cstdint>

namespace verbline::bench {

std::uint64_t allocations();

}  // namespace verbline::bench
