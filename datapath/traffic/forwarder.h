// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Sends what it receives from a queue of one device by a queue of another, or of the same.

#include <cstdint>

#include "datapath/traffic/task.h"
#include "pmd/netdev.h"

namespace verbline::traffic {

enum class Rewrite : std::uint8_t {
    none,       ///< frames go on as they came; their data is not read
    swap_macs,  ///< source and destination MAC change places, so that the sender receives them
};

#define VERBLINE_FORWARDER_COUNTERS(X)                                \
    X(rx_packets, "frames received")                                  \
    X(rx_bytes, "their bytes, with the FCS")                          \
    X(tx_packets, "frames that the other device took")                \
    X(tx_dropped_full, "frames dropped because it did not take them") \
    X(rx_dropped_short, "frames dropped because they have no MAC addresses")

struct ForwarderCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_FORWARDER_COUNTERS)
};

class Forwarder final : public Task {
public:
    /// The devices outlive the forwarder, and may be one.
    Forwarder(pmd::NetDevice& from, pmd::NetDevice& to, std::uint16_t queue, Rewrite rewrite, std::uint16_t burst)
        : from_(from), to_(to), queue_(queue), burst_(burst), rewrite_(rewrite) {}

    bool poll() noexcept override;
    const ForwarderCounters& counters() const { return counters_; }

private:
    std::size_t swap_macs(pmd::Burst frames) noexcept;

    pmd::NetDevice& from_;
    pmd::NetDevice& to_;
    std::uint16_t queue_, burst_;
    Rewrite rewrite_;
    ForwarderCounters counters_;
};

}  // namespace verbline::traffic
