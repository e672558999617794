// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Why a gateway does not start, as one line for its user.

#include <expected>
#include <string>
#include <utility>

#include "pmd/base/error.h"

namespace verbline::gateway {

struct Fault {
    bool of_config = false;  ///< the configuration does not fit the running port: `what` is config_error()'s
    std::string what;
};
using Outcome = std::expected<void, Fault>;

inline std::unexpected<Fault> fault(std::string what) {
    return std::unexpected(Fault{.what = std::move(what)});
}
inline Outcome outcome(Result<void> result) {
    if (!result) return fault(std::move(result.error().what));
    return {};
}

}  // namespace verbline::gateway
