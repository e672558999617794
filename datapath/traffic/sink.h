// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Receives from one queue of a device: counts, checks sequence numbers, and measures latency.

#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/traffic/latency_histogram.h"
#include "datapath/traffic/sequence_check.h"
#include "datapath/traffic/shared_conversion.h"
#include "datapath/traffic/stamp.h"
#include "datapath/traffic/task.h"
#include "pmd/netdev.h"

namespace verbline::traffic {

#define VERBLINE_SINK_COUNTERS(X)                                            \
    X(rx_packets, "frames received")                                         \
    X(rx_bytes, "their bytes, with the FCS")                                 \
    X(rx_stamped, "those of the run that is measured")                       \
    X(rx_other_run, "those of another run of a generator")                   \
    X(rx_without_stamp, "those that no generator has made, or damaged")      \
    X(rx_undated, "those of the run whose arrival the device has not dated") \
    X(rx_misdated, "those dated before they were sent or after they were received")

struct SinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SINK_COUNTERS)
};

/// Of a device that writes the time of its clock at which a frame arrives into the mbuf.
struct ArrivalTimes {
    int field_offset = 0;                     ///< of the mbuf's dynamic field
    std::uint64_t flag = 0;                   ///< of ol_flags: the field is set
    const SharedConversion* clock = nullptr;  ///< outlives the sink
};

struct SinkSettings {
    std::optional<std::uint8_t> run;  ///< the one that is measured; none: that of the first frame with a stamp
    bool latency = false;             ///< frames are sent on this machine
    std::optional<ArrivalTimes> arrivals = {};  ///< none: a frame has arrived when it is received
};

class Sink final : public Task {
public:
    /// The device outlives the sink.
    Sink(pmd::NetDevice& device, std::uint16_t queue, const SinkSettings& settings);

    bool poll() noexcept override;

    const SinkCounters& counters() const { return counters_; }
    /// Once the thread that polls has ended: by stream, and of all.
    StreamTotals stream(std::uint8_t number) const { return checks_[number].totals(); }
    const LatencyHistogram& latency() const { return latency_; }

private:
    void take(const Stamp& stamp, const rte_mbuf& frame, std::uint64_t now) noexcept;
    void measure(const Stamp& stamp, const rte_mbuf& frame, std::uint64_t now) noexcept;

    pmd::NetDevice& device_;
    std::uint16_t queue_;
    SinkSettings settings_;
    std::vector<SequenceCheck> checks_;          ///< by stream
    LatencyHistogram latency_;                   ///< cycles of the time stamp counter
    std::optional<ClockConversion> conversion_;  ///< of the device's clock, for this burst
    SinkCounters counters_;
};

}  // namespace verbline::traffic
