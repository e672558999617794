// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The random source of keys: a peer that has seen any number of keys must not be able to guess another.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "pmd/base/error.h"

namespace verbline::memory {

/// Returns 32 random bits. Tests substitute a generator of their own.
using KeySource = std::function<Result<std::uint32_t>()>;

/// Uses getrandom(2), 64 words at a time. Not thread-safe.
class SystemRandom {
public:
    Result<std::uint32_t> operator()();

private:
    std::array<std::uint32_t, 64> words_{};  ///< getrandom returns all bytes of requests of up to 256
    std::size_t left_ = 0;
};

}  // namespace verbline::memory
