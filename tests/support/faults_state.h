// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What fault injection and the calls it wraps share.

#include <initializer_list>

namespace verbline::test::faults {

/// Asked by each wrapped call: the errno to fail with, or 0. The lists of one name are the same each time.
int injected(const char* call, std::initializer_list<int> errnos) noexcept;

}  // namespace verbline::test::faults

/// One of the calls of faults_calls.h. The linker (--wrap=NAME) turns NAME into __wrap_NAME, and __real_NAME into NAME.
#define VERBLINE_WRAP(Result, name, parameters, arguments, failure, errnos)        \
    extern "C" Result __real_##name parameters;                                    \
    extern "C" Result __wrap_##name parameters;                                    \
    Result __wrap_##name parameters {                                              \
        if (const int error = verbline::test::faults::injected(#name, {errnos})) { \
            return VERBLINE_SET_ERRNO(error), failure;                             \
        }                                                                          \
        return __real_##name arguments;                                            \
    }

/// The same for calls with variable arguments: one word is passed on, which is all that any of them takes.
#define VERBLINE_WRAP_VARIADIC(name, First, Second, ...)                                                        \
    extern "C" int __real_##name(First, Second, ...);                                                           \
    extern "C" int __wrap_##name(First first, Second second, ...);                                              \
    int __wrap_##name(First first, Second second, ...) {                                                        \
        va_list rest;                                                                                           \
        va_start(rest, second);                                                                                 \
        const auto word = va_arg(rest, unsigned long);                                                          \
        va_end(rest);                                                                                           \
        if (const int error = verbline::test::faults::injected(#name, {__VA_ARGS__})) return errno = error, -1; \
        return __real_##name(first, second, word);                                                              \
    }
