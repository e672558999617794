// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Error handling of the examples: a failure ends the program with one line.

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "pmd/base/error.h"

namespace verbline {

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().what);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace verbline
