// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How the small verbs programs of the system tests end when a call fails: with what it was, and why.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

[[noreturn]] inline void give_up(const char* what, int error = errno) {
    std::fprintf(stderr, "%s: %s\n", what, std::strerror(error));
    std::exit(1);
}

template <class T>
T* made(T* object, const char* what) {
    return object != nullptr ? object : (give_up(what), nullptr);
}

inline void done(int error, const char* what) {
    if (error != 0) give_up(what, error);
}
