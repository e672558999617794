// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/clock_calibration.h"

#include <cmath>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "datapath/traffic/shared_conversion.h"

namespace verbline::traffic {
namespace {

constexpr double tsc_hz = 2.4e9;
constexpr double between = 0.05;  ///< seconds from one reading to the next

/// A device's clock, and when it is read.
struct DeviceClock {
    double hz = 156.25e6;
    std::uint64_t start = 1'000'000;
    double drift = 0;         ///< part of its frequency that is added in each second
    double reading = 200e-9;  ///< seconds that one takes
    std::uint64_t tsc_start = 77'000'000'000;

    std::uint64_t cycles(double seconds) const { return tsc_start + static_cast<std::uint64_t>(seconds * tsc_hz); }
    std::uint64_t ticks(double seconds) const {
        return start + static_cast<std::uint64_t>(std::llround(hz * (seconds + drift * seconds * seconds / 2)));
    }
    /// The device looks at its clock at an unknown moment of the reading.
    ClockReading read(double seconds, double part = 0.5) const {
        return {
            .before = cycles(seconds), .ticks = ticks(seconds + part * reading), .after = cycles(seconds + reading)};
    }
    /// How far off, in nanoseconds, the conversion has a moment.
    double error_ns(const ClockConversion& conversion, double seconds) const {
        const auto found = conversion.to_cycles(ticks(seconds));
        return static_cast<double>(static_cast<std::int64_t>(found - cycles(seconds))) / tsc_hz * 1e9;
    }
};

/// Follows the clock from its start on, and asks in between, where frames come.
double worst_error_ns(const DeviceClock& clock, double seconds, ClockCalibration& calibration) {
    double worst = 0;
    for (int i = 0; i * between < seconds; ++i) {
        const auto at = i * between;
        calibration.add(clock.read(at, i % 3 / 2.));
        if (i < 2) continue;
        const auto line = calibration.conversion();
        if (!line) return std::numeric_limits<double>::infinity();
        for (const auto later : {0.01, 0.049}) worst = std::max(worst, std::abs(clock.error_ns(*line, at + later)));
    }
    return worst;
}
double worst_error_ns(const DeviceClock& clock, double seconds = 5) {
    ClockCalibration calibration;
    const auto worst = worst_error_ns(clock, seconds, calibration);
    EXPECT_EQ(calibration.steps(), 0u);
    return worst;
}

TEST(ClockCalibration, FindsFrequencyAndOffset) {
    EXPECT_LT(worst_error_ns({}), 500);
    EXPECT_LT(worst_error_ns({.hz = 25e6}), 500) << "a slow clock";
    EXPECT_LT(worst_error_ns({.hz = 10e9}), 500) << "faster than the time stamp counter";
    ClockCalibration calibration;
    worst_error_ns({}, 1, calibration);
    EXPECT_NEAR(calibration.conversion()->cycles_per_tick, tsc_hz / 156.25e6, 1e-5);
}

/// As real-time clocks of adapters are: nanoseconds since 1970.
TEST(ClockCalibration, ClockInNanoseconds) {
    EXPECT_LT(worst_error_ns({.hz = 1e9, .start = 1'790'000'000'000'000'000}), 500);
}

TEST(ClockCalibration, WrapsAround) {
    const auto soon = std::numeric_limits<std::uint64_t>::max() - 100'000'000;  // 0.64 s before it
    EXPECT_LT(worst_error_ns({.start = soon}), 500);
    EXPECT_LT(worst_error_ns({.tsc_start = std::numeric_limits<std::uint64_t>::max() - 3'000'000'000}), 500);
}

/// 100 ppm in 10 s: far more than any oscillator.
TEST(ClockCalibration, FollowsTheDrift) {
    const DeviceClock clock{.drift = 10e-6};
    EXPECT_LT(worst_error_ns(clock, 10), 5000);
    ClockCalibration calibration;
    for (int i = 0; i < 3; ++i) calibration.add(clock.read(i * between));
    EXPECT_GT(std::abs(clock.error_ns(*calibration.conversion(), 10)), 100'000) << "without further readings";
}

TEST(ClockCalibration, AReadingThatTookLongCountsLittle) {
    DeviceClock clock;
    ClockCalibration calibration;
    for (int i = 0; i < 10; ++i) calibration.add(clock.read(i * between));
    clock.reading = 5e-3;  // the thread was interrupted in it
    calibration.add(clock.read(10 * between, 1));
    EXPECT_LT(std::abs(clock.error_ns(*calibration.conversion(), 10 * between)), 1000);
    EXPECT_EQ(calibration.steps(), 0u);
}

/// Of 32 bits, which it has counted through in 27 s.
TEST(ClockCalibration, ANarrowClockIsLearnedAnew) {
    const DeviceClock clock{.start = (std::uint64_t{1} << 32) - 156'250'000};
    ClockCalibration calibration;
    for (int i = 0; i < 60; ++i) {
        auto reading = clock.read(i * between);
        reading.ticks &= 0xffff'ffff;
        calibration.add(reading);
    }
    EXPECT_EQ(calibration.steps(), 1u);
    const auto line = calibration.conversion().value();
    const auto now = clock.ticks(3) & 0xffff'ffff;
    EXPECT_NEAR(static_cast<double>(line.to_cycles(now)), static_cast<double>(clock.cycles(3)), 1500);
}

TEST(ClockCalibration, AClockThatIsSetIsLearnedAnew) {
    const DeviceClock before, after{.start = 900'000'000'000};
    ClockCalibration calibration;
    for (int i = 0; i < 5; ++i) calibration.add(before.read(i * between));
    calibration.add(after.read(5 * between));
    EXPECT_EQ(calibration.steps(), 1u);
    EXPECT_FALSE(calibration.conversion()) << "one reading says nothing of the frequency";
    calibration.add(after.read(6 * between));
    EXPECT_LT(std::abs(after.error_ns(*calibration.conversion(), 6 * between)), 500);
}

TEST(ClockCalibration, AClockThatStandsStillHasNoConversion) {
    ClockCalibration calibration;
    EXPECT_FALSE(calibration.conversion());
    for (std::uint64_t i = 0; i < 5; ++i) calibration.add({.before = i * 1000, .ticks = 5, .after = i * 1000 + 10});
    EXPECT_FALSE(calibration.conversion());
}

TEST(SharedConversion, ReadersGetWhatWasSet) {
    SharedConversion shared;
    std::optional<ClockConversion> got;
    const auto get = [&] {
        shared.get(got);
        return got;
    };
    EXPECT_FALSE(get());
    const ClockConversion conversion{.ticks = 5, .cycles = 7, .cycles_per_tick = 1.5};
    shared.set(conversion);
    EXPECT_EQ(get(), conversion);
    EXPECT_EQ(conversion.to_cycles(3), 4u) << "before it";
    shared.set(std::nullopt);
    EXPECT_FALSE(get());
}

/// Ticks and cycles of one conversion belong together.
TEST(SharedConversion, ReadersNeverGetHalfOfIt) {
    SharedConversion shared;
    const std::jthread writer([&](const std::stop_token& stop) {
        for (std::uint64_t i = 1; !stop.stop_requested(); ++i)
            shared.set(ClockConversion{.ticks = i, .cycles = 3 * i, .cycles_per_tick = static_cast<double>(i)});
    });
    std::optional<ClockConversion> got;
    for (unsigned seen = 0; seen < 100'000; ++seen) {
        shared.get(got);
        if (!got) continue;
        ASSERT_EQ(got->cycles, 3 * got->ticks);
        ASSERT_EQ(got->cycles_per_tick, static_cast<double>(got->ticks));
    }
}

}  // namespace
}  // namespace verbline::traffic
