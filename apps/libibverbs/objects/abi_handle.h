// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Maps the handles of programs (ibv_pd *, ibv_qp *, ...) to our objects: each object has an AbiHandle, whose first
/// member is what the program sees, and which points back to the object.

#include <cerrno>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include "apps/libibverbs/port/hints.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

template <class Abi, class Object>
struct AbiHandle {
    Abi abi{};  ///< first member: the program's pointer refers to it
    Object* object = nullptr;

    static Object& object_of(Abi* abi) {
        static_assert(std::is_standard_layout_v<AbiHandle>);
        return *reinterpret_cast<AbiHandle*>(abi)->object;
    }
};

/// For verbs that return a pointer: `show` applied to the result of `make`, or nullptr and errno.
template <class Make, class Show = std::identity>
auto made(Make&& make, Show&& show = {}) noexcept {
    try {
        auto result = std::forward<Make>(make)();
        if (result) return std::invoke(show, *result);
        hint(result.error());
        errno = result.error().code;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
    }
    return decltype(std::invoke(show, *make())){};
}

/// For verbs that return 0 or an errno value, which is also put in errno.
template <class Do>
int done(Do&& act) noexcept {
    try {
        const Result<void> result = std::forward<Do>(act)();
        if (result) return 0;
        hint(result.error());
        errno = result.error().code;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
    }
    return errno;
}

}  // namespace verbline::verbs
