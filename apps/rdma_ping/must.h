// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Error handling of the example: a failure ends the program with one line.

#include <expected>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "datapath/rdma/queue_pair.h"
#include "pmd/base/error.h"

namespace verbline::rdma_ping {

inline std::string describe(const Error& error) {
    return error.what;
}
inline std::string describe(const rdma::PostFailure& failure) {
    return "a request was not accepted: " + std::to_string(static_cast<int>(failure.why));
}

template <class T, class E>
T must(std::expected<T, E> result) {
    if (!result) throw std::runtime_error(describe(result.error()));
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace verbline::rdma_ping
