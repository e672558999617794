// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Transport counters, named like the hw_counters of an mlx5 port where the meaning is the same, and one counter per
/// discard reason.

#include <cstdint>
#include <utility>

#include "pmd/base/counter.h"

namespace verbline::transport {

/// The reasons to drop a UD packet, at a program's queue pair and at IPoIB's (ud_check.h).
#define VERBLINE_UD_DISCARDS(X)                                                                           \
    X(rx_dropped_opcode, "packets of an opcode that is unknown, or not of the queue pair's service")      \
    X(rx_dropped_address, "packets for another port's address, which a switch did not know or got wrong") \
    X(rx_dropped_multicast, "multicast datagrams of groups that no queue pair is attached to")            \
    X(rx_dropped_qpn, "packets for a queue pair that does not exist")                                     \
    X(rx_dropped_own_multicast, "multicast datagrams looped back to the queue pair that sent them")       \
    X(rx_dropped_pkey, "packets whose P_Key does not match")                                              \
    X(rx_dropped_qkey, "datagrams whose Q_Key does not match")

VERBLINE_COUNTER_ENUM(UdDiscard, VERBLINE_UD_DISCARDS)

#define VERBLINE_TRANSPORT_COUNTERS(X)                                                                \
    X(rx_packets, "transport packets received, for any queue pair")                                   \
    X(rx_bytes, "bytes of frames received")                                                           \
    X(tx_packets, "transport packets sent")                                                           \
    X(tx_bytes, "bytes of frames sent")                                                               \
    X(tx_loopback_packets, "packets sent to ourselves, which never left")                             \
    X(rx_write_requests, "RDMA WRITE requests executed")                                              \
    X(rx_read_requests, "RDMA READ requests executed")                                                \
    X(rx_atomic_requests, "atomic requests executed")                                                 \
    X(out_of_buffer, "SENDs for which no receive request was posted")                                 \
    X(out_of_sequence, "requests that arrived before an earlier one")                                 \
    X(duplicate_request, "requests that had been executed before")                                    \
    X(packet_seq_err, "NAKs received: PSN sequence error")                                            \
    X(implied_nak_seq_err, "responses that showed an earlier one to be lost")                         \
    X(local_ack_timeout_err, "times a request was not answered within its timeout")                   \
    X(roce_adp_retrans, "retransmissions before the timeout, from the measured round-trip time")      \
    X(rnr_nak_retry_err, "RNR NAKs received")                                                         \
    X(retry_exceeded_err, "requests failed: no response after all retries")                           \
    X(rnr_retry_exceeded_err, "requests failed: receiver not ready after all retries")                \
    X(tx_retransmitted_packets, "packets sent again")                                                 \
    X(tx_selective_packets, "of these, only because the peer named them")                             \
    X(tx_acks, "ACKs sent")                                                                           \
    X(tx_seq_naks, "NAKs sent: PSN sequence error")                                                   \
    X(tx_rnr_naks, "RNR NAKs sent")                                                                   \
    X(resp_remote_invalid_request, "NAKs sent: invalid request")                                      \
    X(resp_remote_access_errors, "NAKs sent: remote access error")                                    \
    X(resp_remote_operation_errors, "NAKs sent: remote operational error")                            \
    X(resp_local_length_error, "messages longer than the receive request posted for them")            \
    X(req_remote_invalid_request, "NAKs received: invalid request")                                   \
    X(req_remote_access_errors, "NAKs received: remote access error")                                 \
    X(req_remote_operation_errors, "NAKs received: remote operational error")                         \
    X(req_local_errors, "send requests that failed locally: protection, length, bind")                \
    X(np_ecn_marked_roce_packets, "packets that arrived marked: congestion experienced")              \
    X(np_cnp_sent, "congestion notifications sent")                                                   \
    X(rp_cnp_handled, "congestion notifications applied to the sending rate")                         \
    X(rp_cnp_ignored, "congestion notifications for queue pairs that send nothing")                   \
    X(cq_overruns, "completions lost because their queue was full")                                   \
    X(rx_handed_over, "packets that arrived at another shard than their queue pair's")                \
    X(rx_dropped_handover, "such packets dropped because the other shard's inbox was full")           \
    VERBLINE_UD_DISCARDS(X)                                                                           \
    X(rx_dropped_mtu, "datagrams longer than the path MTU")                                           \
    X(rx_dropped_state, "packets for a queue pair that cannot receive now")                           \
    X(rx_dropped_source, "packets for a connected queue pair from elsewhere than its peer")           \
    X(rx_dropped_no_receive, "datagrams and unreliable messages dropped: no receive request")         \
    X(rx_dropped_ack, "answers to nothing that is outstanding: duplicates, or beyond what was sent")  \
    X(rx_dropped_response, "READ responses and atomic answers that are not the expected ones")        \
    X(rx_dropped_unreliable, "unreliable packets of messages that miss an earlier packet")            \
    X(rx_dropped_ahead, "requests further ahead of a missing one than any are kept")                  \
    X(rx_dropped_reorder_full, "requests ahead of a missing one, not kept: as many were as may be")   \
    X(rx_dropped_reorder_evicted, "buffered requests evicted because their buffers were needed")      \
    X(rx_dropped_reorder_expired, "buffered requests expired because the missing one did not arrive") \
    X(rx_dropped_resources, "repeated READs and atomics of which nothing is kept any more")           \
    X(rx_dropped_repeated_read, "repeated READs of memory invalidated since they were answered")      \
    X(tx_stalled_no_mbuf, "times that sending waited because no mbuf was free")

#define VERBLINE_UD_DISCARD_CASE(name, help) \
    case UdDiscard::name: return name;

struct RdmaCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_TRANSPORT_COUNTERS)

    Counter& operator[](UdDiscard reason) {
        switch (reason) { VERBLINE_UD_DISCARDS(VERBLINE_UD_DISCARD_CASE) }
        std::unreachable();
    }
};

#undef VERBLINE_UD_DISCARD_CASE

}  // namespace verbline::transport
