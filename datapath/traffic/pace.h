// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A rate as users give it, and what a frame costs at that rate.

#include <cstdint>

namespace verbline::traffic {

/// Between two Ethernet frames: preamble, start delimiter and gap, in bytes (IEEE 802.3 4.4.2).
constexpr std::uint32_t line_overhead = 20;

/// What a rate counts.
enum class RateUnit : std::uint8_t {
    frames,
    frame_bits,  ///< with the FCS
    line_bits,   ///< with what is between frames: 100 % of a line
};

struct Rate {
    RateUnit unit = RateUnit::frames;
    double per_second = 0;

    /// Of a frame with its FCS, in bytes of which `bytes_per_second` pass; a frame counts as one.
    std::uint32_t cost(std::uint32_t frame) const {
        switch (unit) {
            case RateUnit::frames: return 1;
            case RateUnit::frame_bits: return frame;
            case RateUnit::line_bits: return frame + line_overhead;
        }
        return frame;
    }
    /// For congestion::Pacer, which is told `cost` for each frame.
    std::uint64_t pacer_rate() const {
        return static_cast<std::uint64_t>((unit == RateUnit::frames ? 8 : 1) * per_second);
    }
    /// Frames a second, if they have `average` bytes.
    double frames(double average) const {
        switch (unit) {
            case RateUnit::frames: return per_second;
            case RateUnit::frame_bits: return per_second / (8 * average);
            case RateUnit::line_bits: return per_second / (8 * (average + line_overhead));
        }
        return per_second;
    }
    Rate operator*(double factor) const { return {unit, per_second * factor}; }
    bool operator==(const Rate&) const = default;
};

}  // namespace verbline::traffic
