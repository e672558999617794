// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The next definitions of the C library calls that the preloaded library interposes.

#include <atomic>

#include <dlfcn.h>

namespace verbline::verbs {

/// The next definition of one call in the loader's order (RTLD_NEXT), which may be another interposer's; before `look`,
/// the C library's. Constant-initialised, so that it works before any constructor has run.
template <class Call>
class Next {
public:
    constexpr explicit Next(Call* library) : call_(library) {}
    /// Call when the library is loaded: the first call may come from a signal handler, too late for dlsym.
    void look(const char* name) {
        if (auto* const found = dlsym(RTLD_NEXT, name)) call_.store(reinterpret_cast<Call*>(found));
    }
    Call* get() const { return call_.load(std::memory_order_relaxed); }

private:
    std::atomic<Call*> call_;
};

}  // namespace verbline::verbs
