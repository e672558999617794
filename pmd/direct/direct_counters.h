// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Counters of a device with direct links, besides those of its lane and its memif pairs; one struct per writing
/// thread.

#include "pmd/base/counter.h"

namespace verbline::pmd {

#define VERBLINE_DIRECT_RX_COUNTERS(X) \
    X(rx_dropped_source, "frames over a direct link whose source address is not its peer's")
#define VERBLINE_DIRECT_TX_COUNTERS(X) \
    X(tx_dropped_stalled, "frames for a direct link whose peer has stopped reading its full ring")
#define VERBLINE_DIRECT_CONTROL_COUNTERS(X)                          \
    X(direct_asked, "direct links requested from the hub")           \
    X(direct_refused, "of these, those that the hub would not give") \
    X(direct_failures, "direct links granted that did not come up: no memory, or no answer of the peer")

struct DirectRxCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_DIRECT_RX_COUNTERS)
};
struct DirectTxCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_DIRECT_TX_COUNTERS)
};
struct DirectControlCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_DIRECT_CONTROL_COUNTERS)
};

}  // namespace verbline::pmd
