// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The assembly functions behind guarded.h. They return false on a fault. Internal to this folder and its tests.

#include <cstddef>
#include <cstdint>

extern "C" {
// The first works on any x86-64, the second needs AVX2, the third AVX-512F and VL.
[[gnu::visibility("hidden")]] bool verbline_copy_sse2(std::byte* to, const std::byte* from, std::size_t size) noexcept;
[[gnu::visibility("hidden")]] bool verbline_copy_avx2(std::byte* to, const std::byte* from, std::size_t size) noexcept;
[[gnu::visibility("hidden")]] bool verbline_copy_avx512(std::byte* to, const std::byte* from,
                                                        std::size_t size) noexcept;
[[gnu::visibility("hidden")]] bool verbline_compare_swap(std::byte* at, std::uint64_t compare, std::uint64_t swap,
                                                         std::uint64_t* before) noexcept;
[[gnu::visibility("hidden")]] bool verbline_fetch_add(std::byte* at, std::uint64_t add, std::uint64_t* before) noexcept;
[[gnu::visibility("hidden")]] bool verbline_store(std::byte* at, std::uint64_t value) noexcept;

// All instructions that may fault lie between begin and end; after a fault there, execution continues at fault.
[[gnu::visibility("hidden")]] extern const char verbline_guarded_begin[], verbline_guarded_end[],
    verbline_guarded_fault[];
}
