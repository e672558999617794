// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/hints.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace verbline::verbs {

void Hints::give(const Error& error) noexcept {
    if (!wanted_ || error.what.empty() || error.code == EAGAIN) return;  // not yet is no failure
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || given_.size() >= most) return;
    const int before = errno;
    try {
        if (given_.insert(error.what).second) std::fprintf(stderr, "verbline: hint: %s\n", error.what.c_str());
    } catch (const std::bad_alloc&) {  // then without
    }
    errno = before;
}

void hint(const Error& error) noexcept {
    static Hints hints([] {
        const char* const wanted = std::getenv("VERBLINE_HINTS");
        return wanted != nullptr && *wanted != '\0';
    }());
    hints.give(error);
}

}  // namespace verbline::verbs
