// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Calls of the C library that the preloaded library stands in for, and who would have had them without it.

#include <atomic>

#include <dlfcn.h>

namespace verbline::verbs {

/// The call of one name of whoever comes after us; before we are told, the C library's. Constant-initialised, so that
/// it works before any constructor has run.
template <class Call>
class Next {
public:
    constexpr explicit Next(Call* library) : call_(library) {}
    /// When the library is loaded, and not at the first call, which a signal handler may make.
    void look(const char* name) {
        if (auto* const found = dlsym(RTLD_NEXT, name)) call_.store(reinterpret_cast<Call*>(found));
    }
    Call* get() const { return call_.load(std::memory_order_relaxed); }

private:
    std::atomic<Call*> call_;
};

}  // namespace verbline::verbs
