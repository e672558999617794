// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The line that a user reads when a device refuses what is asked of it.

#include <cstring>

#include <fmt/format.h>

#include "pmd/base/error.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

/// `what`: such as "make a completion queue".
inline std::unexpected<Error> cannot(const ibv_context& context, const char* what, int error) {
    return failure(error,
                   fmt::format("RDMA device {}: cannot {}: {}", context.device->name, what, std::strerror(error)));
}

}  // namespace verbline::pmd::hca
