// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How often a thread has asked the C library's heap for memory: by `new`, by malloc and its kin, from whatever
/// library. A test binary has it by naming heap_calls.cc among its sources. DPDK's own heaps and pools do not count.

#include <cstdint>

namespace verbline::test {

/// Calls of this thread since it began.
std::uint64_t heap_calls() noexcept;

}  // namespace verbline::test
