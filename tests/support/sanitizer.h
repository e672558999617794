// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which sanitizer the tests are compiled with, for the few that one of them cannot stand.

namespace verbline::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#else
inline constexpr bool thread_sanitizer = false;
#endif

}  // namespace verbline::test
