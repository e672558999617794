// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Errors of everything off the packet path: an errno for programs, one line of text for people.

#include <cerrno>
#include <expected>
#include <string>
#include <utility>

namespace verbline {

/// `what` is one line, without a full stop: what happened and what to do about it.
struct Error {
    int code = EINVAL;  ///< an errno value
    std::string what;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(int code, std::string what) {
    return std::unexpected(Error{code, std::move(what)});
}

}  // namespace verbline
