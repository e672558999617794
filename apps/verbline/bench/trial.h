// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One trial: tasks on lcores, for some time; then what they counted.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/verbline/bench/device_clock.h"
#include "apps/verbline/bench/plan.h"
#include "apps/verbline/bench/ports.h"
#include "datapath/traffic/latency_histogram.h"
#include "datapath/traffic/sequence_check.h"
#include "pmd/base/error.h"

namespace verbline::bench {

struct TrialSettings {
    std::optional<traffic::Rate> rate;  ///< of all queues and directions together; none: as fast as it goes
    std::uint64_t frames = std::numeric_limits<std::uint64_t>::max();
    std::optional<Time> duration;  ///< none: until all frames are sent, or a signal comes
    std::uint8_t run = 0;          ///< of the stamp, not the one of the trial before
};

/// Frames and bytes, with the FCS.
struct Volume {
    std::uint64_t packets = 0, bytes = 0;
    Volume& operator+=(const Volume& other) {
        packets += other.packets, bytes += other.bytes;
        return *this;
    }
    Volume operator-(const Volume& other) const { return {packets - other.packets, bytes - other.bytes}; }
    bool operator==(const Volume&) const = default;
};

/// What a device's queue sent or received, or a forwarder between two.
struct QueueResult {
    std::size_t port = 0;
    std::uint16_t queue = 0;
    unsigned lcore = 0;
    Volume tx, rx;
};

struct LcoreResult {
    unsigned lcore = 0;
    std::uint64_t busy_cycles = 0, idle_cycles = 0, packets = 0;

    double cycles_per_packet() const {
        return packets == 0 ? 0 : static_cast<double>(busy_cycles) / static_cast<double>(packets);
    }
    double busy_percent() const {
        const auto all = static_cast<double>(busy_cycles + idle_cycles);
        return all == 0 ? 0 : 100 * static_cast<double>(busy_cycles) / all;
    }
};

/// A counter that is not zero and tells of frames that went nowhere, or had to wait.
struct Drop {
    std::string where, name;
    std::uint64_t count = 0;
};

struct TrialResult {
    Time elapsed = 0;                    ///< while frames were sent, or until the end
    std::optional<traffic::Rate> asked;  ///< of the settings
    Volume tx, rx;
    traffic::StreamTotals order;              ///< of stamped frames, all streams
    std::optional<std::uint64_t> lost;        ///< where it can be known
    traffic::LatencyHistogram latency;        ///< cycles of the time stamp counter; empty: not measured
    std::uint64_t undated = 0, misdated = 0;  ///< by the device: frames of which it is not measured (traffic/sink.h)
    std::vector<ClockFacts> clocks = {};      ///< of the devices, if it was measured by those
    std::vector<QueueResult> queues;
    std::vector<LcoreResult> lcores;
    std::vector<Drop> drops;
    bool interrupted = false;  ///< by a signal

    double tx_rate() const { return per_second(tx.packets); }
    double rx_rate() const { return per_second(rx.packets); }
    double per_second(std::uint64_t count) const {
        return elapsed <= 0 ? 0 : static_cast<double>(count) * second / static_cast<double>(elapsed);
    }
};

/// What the trial calls now and then, on the calling thread.
struct TrialEvents {
    std::function<bool(Time wait)> stop;  ///< waits so long; true: a signal came
    /// Since the start of the trial: sent, received, and how long it has run.
    std::function<void(const Volume& tx, const Volume& rx, Time elapsed)> progress = {};
};

/// Runs on `lcores`, one thread each. EBUSY: a thread is used otherwise.
Result<std::unique_ptr<TrialResult>> run_trial(const PacketPlan& plan, std::vector<std::unique_ptr<BenchPort>>& ports,
                                               const std::vector<unsigned>& lcores, const TrialSettings& settings,
                                               const TrialEvents& events);

}  // namespace verbline::bench
