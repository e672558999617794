// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Impairments of a link, and the parser of their text form.
///
///     loss=0.01,duplicate=0.001,reorder=0.01,corrupt=0.001,delay=100us,jitter=20us,seed=7
///
/// Probabilities are 0 to 1, durations a number with ns, us, ms or s. `rx.loss=...` or `tx.delay=...` sets one
/// direction (rx: received packets); without a prefix a key sets both. Later keys override earlier ones.

#include <cstdint>
#include <string_view>

#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::pmd {

struct Impairments {
    double loss = 0;       ///< probability that a packet is dropped
    double duplicate = 0;  ///< ... arrives twice
    double reorder = 0;    ///< ... is overtaken by those of the next 100 microseconds
    double corrupt = 0;    ///< ... has one bit flipped
    Time delay = 0;        ///< of every packet
    Time jitter = 0;       ///< additional delay, uniformly distributed up to this: packets may overtake each other
    bool operator==(const Impairments&) const = default;
};

struct ImpairSpec {
    Impairments rx, tx;
    std::uint64_t seed = 1;  ///< equal seeds and equal traffic give equal results
    bool operator==(const ImpairSpec&) const = default;
};

Result<ImpairSpec> parse_impairments(std::string_view text);

}  // namespace verbline::pmd
