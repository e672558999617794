// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The clock by which a port of DPDK dates frames that arrive, followed by the main thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "datapath/traffic/clock_calibration.h"
#include "datapath/traffic/shared_conversion.h"
#include "datapath/traffic/sink.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::bench {

/// How it was calibrated.
struct ClockFacts {
    double hertz = 0;         ///< as of the last readings
    std::uint64_t steps = 0;  ///< it was not where it should have been, and was learned anew
};

class DeviceClock {
public:
    /// Of a port that was opened with RTE_ETH_RX_OFFLOAD_TIMESTAMP; reads the clock for a tenth of a second. EINVAL: it
    /// cannot be read, or stands still.
    static Result<std::unique_ptr<DeviceClock>> create(const std::string& port);

    /// Reads the clock if that was some time ago.
    void follow(Time now);
    /// For sinks of the port.
    traffic::ArrivalTimes arrivals() const { return {.field_offset = field_offset_, .flag = flag_, .clock = &shared_}; }
    ClockFacts facts() const;

private:
    explicit DeviceClock(std::uint16_t port) : port_(port) {}
    Result<void> calibrate(const std::string& name);
    std::optional<traffic::ClockReading> read() const;

    std::uint16_t port_;
    int field_offset_ = -1;
    std::uint64_t flag_ = 0;
    Time next_ = 0;
    traffic::ClockCalibration calibration_;
    traffic::SharedConversion shared_;
};

}  // namespace verbline::bench
