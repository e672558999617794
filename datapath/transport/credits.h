// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// End-to-end credits: the number of receive requests at the responder, coded in five bits of the AETH (IBTA volume 1,
/// 9.7.7.2, table 42).

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace verbline::transport {

constexpr std::array<std::uint32_t, 31> credit_counts{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

/// nullopt: the responder does not limit the requester (code 31).
constexpr std::optional<std::uint32_t> credits_of(std::uint8_t code) {
    return code < credit_counts.size() ? std::optional(credit_counts[code]) : std::nullopt;
}

/// Code of the largest credit count that is at most `requests`.
constexpr std::uint8_t credit_code(std::uint32_t requests) {
    return static_cast<std::uint8_t>(std::ranges::upper_bound(credit_counts, requests) - credit_counts.begin() - 1);
}
static_assert(credit_code(0) == 0 && credit_code(5) == 4 && credit_code(1 << 20) == 30);

}  // namespace verbline::transport
