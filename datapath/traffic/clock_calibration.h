// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device's clock in terms of the time stamp counter: frequency and offset, out of readings of both. An engine: it
/// reads no clock.
///
///     readings of the last seconds ──> ClockCalibration ──> ClockConversion: cycles of a device's time
///
/// A device's clock may count anything: cycles of its own, or nanoseconds. Its frequency drifts with the temperature,
/// so the conversion is the line through the latest readings, where one that took long counts little. Times of the
/// device are compared modulo 2^64, as they may wrap around. A clock that was set, or is narrower and wrapped around,
/// fits the line no more: then it is learned anew.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace verbline::traffic {

/// One reading of the device's clock, and the time stamp counter before and after it.
struct ClockReading {
    std::uint64_t before = 0, ticks = 0, after = 0;

    std::uint64_t middle() const { return before + (after - before) / 2; }
    std::uint64_t width() const { return after - before; }
};

struct ClockConversion {
    std::uint64_t ticks = 0, cycles = 0;  ///< the same moment by both clocks
    double cycles_per_tick = 0;

    /// Of a moment near that one: the time stamp counter then.
    std::uint64_t to_cycles(std::uint64_t at) const {
        const auto since = static_cast<double>(static_cast<std::int64_t>(at - ticks));
        return cycles + static_cast<std::uint64_t>(static_cast<std::int64_t>(since * cycles_per_tick));
    }
    bool operator==(const ClockConversion&) const = default;
};

class ClockCalibration {
public:
    static constexpr std::size_t most_readings = 16;

    /// Later than the one before. A few in each second follow the drift of any oscillator.
    void add(const ClockReading& reading);
    /// nullopt: there are too few readings, or the clock stands still.
    std::optional<ClockConversion> conversion() const;
    /// How often the clock was not where the readings before had it.
    std::uint64_t steps() const { return steps_; }

private:
    bool fits(const ClockReading& reading) const;

    std::array<ClockReading, most_readings> readings_{};  ///< a ring
    std::size_t count_ = 0, next_ = 0;
    std::uint64_t steps_ = 0;
};

}  // namespace verbline::traffic
