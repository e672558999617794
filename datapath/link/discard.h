// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The reasons to drop a frame before its BTH is looked at, the same on every carrier; also the counters' names.

#include <array>
#include <cstdint>

#include "pmd/base/counter.h"

namespace verbline::link {

#define VERBLINE_ARRIVAL_DISCARDS(X)                                                                    \
    X(rx_dropped_foreign, "frames that carry no InfiniBand packet, by EtherType, protocol or UDP port") \
    X(rx_dropped_truncated, "frames that end inside a header, or before the length they state")         \
    X(rx_dropped_ip_version, "IP headers and GRHs of another version than they should be")              \
    X(rx_dropped_ip_options, "RoCE packets whose IPv4 header has options")                              \
    X(rx_dropped_ip_fragment, "fragments of IPv4 packets that are, or may be, RoCE")                    \
    X(rx_dropped_ip_checksum, "RoCE packets whose IPv4 header checksum does not verify")                \
    X(rx_dropped_length, "packets whose lengths contradict each other, their headers or their padding") \
    X(rx_dropped_grh, "packets whose GRH is followed by no BTH")                                        \
    X(rx_dropped_lrh, "packets whose LRH version, next header or length is invalid")                    \
    X(rx_dropped_vcrc, "packets whose VCRC does not verify")                                            \
    X(rx_dropped_icrc, "packets whose ICRC does not verify")                                            \
    X(rx_dropped_bth, "packets of another transport version, or with more padding than payload")

VERBLINE_COUNTER_ENUM(Discard, VERBLINE_ARRIVAL_DISCARDS)

}  // namespace verbline::link
