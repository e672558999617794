// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Counters of RDMA CM: requests, and what failed.

#include "pmd/base/counter.h"

namespace verbline::rdmacm {

#define VERBLINE_RDMACM_COUNTERS(X)                                                                         \
    X(rx_requests, "requests that came for listeners")                                                      \
    X(rx_requests_malformed, "requests without a readable IP CM header, rejected")                          \
    X(rx_requests_no_listener, "requests rejected because no id listens on the address")                    \
    X(rx_requests_wrong_type, "requests of another kind of queue pair than the listener's, rejected")       \
    X(rx_requests_waiting, "requests that waited until their listener's user had taken others")             \
    X(rx_requests_backlog_full, "requests of ports that had their share of a listener's backlog, rejected") \
    X(address_errors, "addresses that could not be resolved")                                               \
    X(route_errors, "routes that were not found")                                                           \
    X(multicast_errors, "groups that could not be joined, or were lost")                                    \
    X(connect_unanswered, "connects and service id resolutions without an answer")                          \
    X(connect_rejected, "connections and datagram services that the peer refused")                          \
    X(events_unseen, "events dropped with their id before its user took them")

struct RdmaCmCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_RDMACM_COUNTERS)
};

}  // namespace verbline::rdmacm
