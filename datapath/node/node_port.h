// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the ports of a node have in common: frames for QP1 leave the switch's path for the control thread, and come
/// back from it past the switch.
///
///     inner device ── rx_burst ──┬──> the switch
///                                └── QP1 ──> GsiQueue ──> control thread
///     inner device <─ tx_burst ──┬─── the switch
///                                └── ring <── inject ──── control thread
///
/// Threads: `inject` by the control thread; bursts by the thread that polls the port, which does both directions.

#include <memory>
#include <string>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/member.h"
#include "datapath/node/gsi_queue.h"
#include "datapath/wire/bytes.h"
#include "pmd/base/counter.h"
#include "pmd/decorator.h"
#include "pmd/rss/handover_ring.h"

namespace verbline::node {

#define VERBLINE_NODE_PORT_COUNTERS(X)                                                        \
    X(gsi_rx_packets, "frames for QP1 handed to the node's connection manager")               \
    X(gsi_rx_dropped_full, "such frames while too many were waiting")                         \
    X(gsi_tx_packets, "frames of the node's connection manager that went out by this port")   \
    X(gsi_tx_dropped, "such frames while too many were waiting")                              \
    X(gsi_tx_dropped_full, "such frames that the port had no room for")                       \
    X(rx_dropped_not_rdma, "frames of a process without an RDMA packet")                      \
    X(rx_dropped_foreign_qpn, "datagrams of a process from another's queue pair, or for QP0") \
    X(rx_ignored, "frames from the wire for other hosts, or without an RDMA packet, which the kernel serves")

struct NodePortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NODE_PORT_COUNTERS)
};

class NodePort : public pmd::Decorator {
public:
    static constexpr unsigned most_injected = 256;

    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept final;
    void counters(const CounterVisitor& visit) const override;

    /// Sends a frame by this port with its next `rx_burst`. Takes ownership.
    void inject(rte_mbuf* frame) noexcept;

protected:
    enum class Verdict : std::uint8_t { pass, gsi, drop };

    /// `gsi` outlives the port; `member`: whose port it is, node_itself for the wire's.
    NodePort(std::unique_ptr<pmd::NetDevice> inner, GsiQueue& gsi, link::MemberId member, pmd::HandoverRing injected)
        : Decorator(std::move(inner)), gsi_(gsi), member_(member), injected_(std::move(injected)) {}
    static Result<pmd::HandoverRing> make_ring(const GsiQueue& gsi, link::MemberId member);

    /// What to do with a received frame, which holds at least the Ethernet header; may rewrite its MAC addresses. A
    /// frame that is dropped has been counted.
    virtual Verdict classify(rte_mbuf& frame) noexcept = 0;

    link::MemberId member() const { return member_; }
    NodePortCounters& counted() { return counters_; }

private:
    std::size_t keep(pmd::Burst burst) noexcept;
    void send_injected(std::uint16_t queue) noexcept;

    GsiQueue& gsi_;
    const link::MemberId member_;
    pmd::HandoverRing injected_;
    NodePortCounters counters_;
};

void set_destination(rte_mbuf& frame, const wire::MacAddress& mac) noexcept;
void set_source(rte_mbuf& frame, const wire::MacAddress& mac) noexcept;
inline wire::Bytes bytes_of(const rte_mbuf& frame) noexcept {
    return {rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len};
}

}  // namespace verbline::node
