// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Chance that is the same everywhere for the same seed: no standard distribution, of which libraries differ.

#include <cstdint>

namespace verbline::sim {

enum class Seed : std::uint64_t {};

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): eight bytes of state, so that each direction of each link has its own.
class Random {
public:
    explicit Random(Seed seed) : state_(static_cast<std::uint64_t>(seed)) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        auto mixed = (state_ ^ state_ >> 30) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
        return mixed ^ mixed >> 31;
    }
    /// 0 to bound - 1; `bound` is far below 2^64, so that the modulo favours nothing that shows.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    /// True with this probability; no number is drawn for what never happens.
    bool chance(double probability) {
        return probability > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < probability;
    }

private:
    std::uint64_t state_;
};

}  // namespace verbline::sim
