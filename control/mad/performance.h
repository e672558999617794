// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The agent that answers for a port's counters: performance management (IBTA volume 1, 16.1), attributes
/// ClassPortInfo, PortCounters and PortCountersExtended.
///
///     Get ──> the counters, less what they were at their last reset ──> GetResp
///     Set ──> those selected are reset, of this attribute ────────────> GetResp
///
/// Pure: no I/O. One thread at a time.

#include <array>
#include <cstdint>
#include <optional>

#include "control/mad/transport.h"

namespace verbline::mad {

/// Of one port, since it was opened. Data in words of 32 bits.
struct PerformanceCounters {
    std::uint64_t link_downed = 0, receive_errors = 0, transmit_discards = 0;
    std::uint64_t transmit_data = 0, receive_data = 0, transmit_packets = 0, receive_packets = 0;
};

class PerformanceAgent {
public:
    /// The answer to a MAD of the class; none: it needs no answer. Counters that are too large for their field keep its
    /// largest value, as the attribute demands.
    std::optional<MadBuffer> answer(MadBytes request, const PerformanceCounters& now);

private:
    PerformanceCounters zero_, zero_extended_;  ///< at the last reset
};

}  // namespace verbline::mad
