// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The last line that the client prints.

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "pmd/base/time.h"

namespace verbline::rdma_ping {

/// `times`: the round trip of each ping; at least one. RC loses nothing: a ping without an answer has ended the
/// program.
inline void print(std::vector<Time> times) {
    std::ranges::sort(times);
    const auto us = [&](std::size_t n) { return static_cast<double>(times[n]) / microsecond; };
    fmt::print("{} pings, 0 lost, min/typical/max {:.1f}/{:.1f}/{:.1f} us\n", times.size(), us(0), us(times.size() / 2),
               us(times.size() - 1));
}

}  // namespace verbline::rdma_ping
