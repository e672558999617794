// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/clock_calibration.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace verbline::traffic {
namespace {

/// Far more than oscillators drift in a second, far less than what a step or a wrap-around makes of a difference.
constexpr double most_deviation = 0.01;

double difference(std::uint64_t later, std::uint64_t earlier) {
    return static_cast<double>(static_cast<std::int64_t>(later - earlier));
}

}  // namespace

void ClockCalibration::add(const ClockReading& reading) {
    if (!fits(reading)) count_ = next_ = 0, ++steps_;
    readings_[next_] = reading;
    next_ = (next_ + 1) % most_readings;
    count_ = std::min(count_ + 1, most_readings);
}

/// Of the second reading all that is known is that clocks run forwards.
bool ClockCalibration::fits(const ClockReading& reading) const {
    if (count_ == 0) return true;
    const auto& last = readings_[(next_ + most_readings - 1) % most_readings];
    if (difference(reading.ticks, last.ticks) < 0) return false;
    const auto line = conversion();
    if (!line) return true;
    const auto error = difference(line->to_cycles(reading.ticks), reading.middle());
    const auto doubt = static_cast<double>(reading.width() + last.width());
    return std::abs(error) <= doubt + most_deviation * difference(reading.middle(), last.middle());
}

/// Weighted least squares, around the latest reading: differences are small numbers then, of which nothing is lost.
std::optional<ClockConversion> ClockCalibration::conversion() const {
    if (count_ < 2) return std::nullopt;
    const auto& origin = readings_[(next_ + most_readings - 1) % most_readings];
    const std::span all(readings_.data(), count_);
    // The moment of a reading is known as well as it was quick.
    const auto weight = [](const ClockReading& reading) {
        const auto width = static_cast<double>(reading.width() + 1);
        return 1 / (width * width);
    };
    double sum = 0, ticks = 0, cycles = 0;
    for (const auto& reading : all) {
        sum += weight(reading);
        ticks += weight(reading) * difference(reading.ticks, origin.ticks);
        cycles += weight(reading) * difference(reading.middle(), origin.middle());
    }
    ticks /= sum, cycles /= sum;
    double squares = 0, products = 0;
    for (const auto& reading : all) {
        const auto x = difference(reading.ticks, origin.ticks) - ticks;
        const auto y = difference(reading.middle(), origin.middle()) - cycles;
        squares += weight(reading) * x * x, products += weight(reading) * x * y;
    }
    if (squares == 0 || products <= 0) return std::nullopt;
    const auto slope = products / squares;
    const auto at_origin = static_cast<std::int64_t>(std::llround(cycles - slope * ticks));
    return ClockConversion{.ticks = origin.ticks,
                           .cycles = origin.middle() + static_cast<std::uint64_t>(at_origin),
                           .cycles_per_tick = slope};
}

}  // namespace verbline::traffic
