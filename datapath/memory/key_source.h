// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where keys come from: a peer that has seen any number of keys must not be able to guess another.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "pmd/base/error.h"

namespace verbline::memory {

/// 32 random bits. Tests put a generator of their own in its place.
using KeySource = std::function<Result<std::uint32_t>()>;

/// The kernel's generator, getrandom(2), some 64 words at a time. Not thread-safe.
class SystemRandom {
public:
    Result<std::uint32_t> operator()();

private:
    std::array<std::uint32_t, 64> words_{};  ///< getrandom never gives less than asked for up to 256 bytes
    std::size_t left_ = 0;
};

}  // namespace verbline::memory
