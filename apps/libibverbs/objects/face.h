// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Between what programs hold (ibv_pd *, ibv_qp *, ...) and our objects: each object has a face, which the program
/// sees, and which knows whose it is.

#include <cerrno>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include "pmd/base/error.h"

namespace verbline::verbs {

template <class Abi, class Object>
struct Face {
    Abi abi{};  ///< what the program has a pointer to; first
    Object* object = nullptr;

    static Object& object_of(Abi* abi) {
        static_assert(std::is_standard_layout_v<Face>);
        return *reinterpret_cast<Face*>(abi)->object;
    }
};

/// Calls that give a pointer: what `show` makes of what `make` gives, or nullptr and errno.
template <class Make, class Show = std::identity>
auto made(Make&& make, Show&& show = {}) noexcept {
    try {
        auto result = std::forward<Make>(make)();
        if (result) return std::invoke(show, *result);
        errno = result.error().code;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
    }
    return decltype(std::invoke(show, *make())){};
}

/// Calls that give 0 or an errno value.
template <class Do>
int done(Do&& act) noexcept {
    try {
        const Result<void> result = std::forward<Do>(act)();
        if (result) return 0;
        errno = result.error().code;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
    }
    return errno;
}

}  // namespace verbline::verbs
