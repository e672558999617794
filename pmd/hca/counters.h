// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a device of this folder counts: for each direction of each queue, by its thread; and of the device, by the
/// control thread.

#include "pmd/base/counter.h"

namespace verbline::pmd::hca {

#define VERBLINE_HCA_RX_COUNTERS(X)                                                                  \
    X(rx_good_packets, "datagrams received")                                                         \
    X(rx_good_bytes, "bytes of their payloads")                                                      \
    X(rx_mbuf_allocation_errors, "times that the pool had too few buffers to post all receives")     \
    X(rx_dropped_short, "completions shorter than the GRH's place in front of a payload")            \
    X(rx_dropped_own_multicast, "multicast datagrams of our own that the fabric brought back")       \
    X(rx_flushed, "posted buffers that came back unused when the queue pair failed")                 \
    X(rx_errors, "receives that completed with an error, after which the queue pair is set up anew") \
    X(rx_post_errors, "times that the device refused receives, after which the queue pair is set up anew")

struct HcaRxCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_HCA_RX_COUNTERS)
};

#define VERBLINE_HCA_TX_COUNTERS(X)                                                                            \
    X(tx_good_packets, "datagrams given to the device")                                                        \
    X(tx_good_bytes, "bytes of their payloads")                                                                \
    X(tx_segmented_packets, "of these, large TCP packets that the device segments")                            \
    X(tx_copied_packets, "datagrams copied because their memory is of none of the device's pools")             \
    X(tx_dropped_down, "datagrams for a device that is not up, is gone, or has no identity yet")               \
    X(tx_dropped_oversize, "datagrams longer than the link's MTU")                                             \
    X(tx_dropped_segments, "datagrams in more pieces than the device takes")                                   \
    X(tx_dropped_no_mbuf, "datagrams not copied because the pool had no buffer")                               \
    X(tx_dropped_no_address_handle, "datagrams to an address of which the device makes no handle")             \
    X(tx_dropped_bad_request, "datagrams whose checksum request contradicts their headers")                    \
    X(tx_dropped_segmentation, "large TCP packets that were under way when the device failed at segmentation") \
    X(tx_dropped_refused, "datagrams that the device refused, after which the queue pair is set up anew")      \
    X(tx_dropped_flushed, "datagrams that the failed queue pair did not send")                                 \
    X(tx_errors, "datagrams whose sending failed, after which the queue pair is set up anew")

struct HcaTxCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_HCA_TX_COUNTERS)
};

#define VERBLINE_HCA_COUNTERS(X)                                                                                 \
    X(queue_pair_resets, "times that queue pairs were set up anew, after a failure or a change of the port")     \
    X(queue_pair_reset_errors, "times that this failed; the device is then opened anew")                         \
    X(queue_pair_events, "failures of queue pairs or completion queues that the device reported as such")        \
    X(receive_spread_errors,                                                                                     \
      "times that the device did not spread over queues, though it says that it can; one receives")              \
    X(segmentation_errors, "times that the device made no queue pairs that segment, though it says that it can") \
    X(port_events, "changes of the port that the device reported")                                               \
    X(device_losses, "times that the device failed or was removed")                                              \
    X(device_returns, "times that it was opened anew")                                                           \
    X(flow_rule_errors, "rules for packets that the device refused, which the kernel gets instead")              \
    X(multicast_errors, "groups that the device, or the interface below it, did not let us receive")

struct HcaCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_HCA_COUNTERS)
};

}  // namespace verbline::pmd::hca
