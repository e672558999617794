// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Error handling of the example: a failure ends the program with one line, a refused work request too.

#include <expected>
#include <stdexcept>
#include <string>

#include "apps/environment/must.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::rdma_ping {

using verbline::must;

inline void must(std::expected<void, rdma::PostFailure> posted) {
    if (posted) return;
    throw std::runtime_error("a request was not accepted: " + std::to_string(static_cast<int>(posted.error().why)));
}

}  // namespace verbline::rdma_ping
