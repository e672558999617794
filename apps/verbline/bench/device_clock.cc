// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/device_clock.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include <fmt/format.h>

#include "pmd/base/clock.h"
#include "pmd/ethdev/read_clock.h"

namespace verbline::bench {
namespace {

constexpr Time interval = 50 * millisecond;
constexpr std::chrono::milliseconds first_interval{20};
constexpr unsigned first_readings = 6, tries = 5;

}  // namespace

Result<std::unique_ptr<DeviceClock>> DeviceClock::create(const std::string& port) {
    std::uint16_t id = 0;
    if (const int rc = rte_eth_dev_get_port_by_name(port.c_str(), &id); rc != 0)
        return failure(EINVAL, fmt::format("{} is no port of DPDK, which alone date frames", port));
    std::unique_ptr<DeviceClock> clock(new DeviceClock(id));
    // The driver has done so, too: it is the same field for all.
    if (rte_mbuf_dyn_rx_timestamp_register(&clock->field_offset_, &clock->flag_) != 0)
        return failure(rte_errno, fmt::format("{}: no room in mbufs for a timestamp", port));
    if (auto good = clock->calibrate(port); !good) return std::unexpected(good.error());
    return clock;
}

Result<void> DeviceClock::calibrate(const std::string& name) {
    for (unsigned i = 0; i < first_readings; ++i) {
        if (i > 0) std::this_thread::sleep_for(first_interval);
        const auto reading = read();
        if (!reading)
            return failure(EINVAL, fmt::format("{} dates frames by a clock that its driver does not let read", name));
        calibration_.add(*reading);
    }
    const auto conversion = calibration_.conversion();
    if (!conversion) return failure(EINVAL, fmt::format("{} dates frames by a clock that stands still", name));
    shared_.set(conversion);
    next_ = monotonic_now() + interval;
    return {};
}

void DeviceClock::follow(Time now) {
    if (now < next_) return;
    next_ = now + interval;
    if (const auto reading = read()) calibration_.add(*reading);
    shared_.set(calibration_.conversion());
}

ClockFacts DeviceClock::facts() const {
    const auto conversion = calibration_.conversion();
    const auto hertz = conversion ? static_cast<double>(rte_get_tsc_hz()) / conversion->cycles_per_tick : 0;
    return {.hertz = hertz, .steps = calibration_.steps()};
}

/// The quickest of a few: what interrupts one makes it longer.
std::optional<traffic::ClockReading> DeviceClock::read() const {
    std::optional<traffic::ClockReading> best;
    for (unsigned i = 0; i < tries; ++i) {
        const auto before = rte_rdtsc_precise();
        const auto ticks = pmd::read_clock(port_);
        if (!ticks) return std::nullopt;
        const traffic::ClockReading reading{.before = before, .ticks = *ticks, .after = rte_rdtsc_precise()};
        if (!best || reading.width() < best->width()) best = reading;
    }
    return best;
}

}  // namespace verbline::bench
