// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the ports of a node have in common: frames for QP1, and on a soft fabric for IPoIB's queue pair, leave the
/// switch's path for the control thread, those for XRC targets that members share for XrcTargets, and all come back
/// past the switch.
///
///     inner device ── rx_burst ──┬──> the switch
///                                ├── QP1, IPoIB ─────> GsiQueue ──> control thread
///                                └── shared targets ─> XrcTargets
///     inner device <─ tx_burst ──┬─── the switch
///                                ├── ring <── inject ──── control thread
///                                └── ring <── relay ───── XrcTargets
///
/// Threads: `inject` and `set_port` by the control thread; `relay` under the lock of XrcTargets; bursts by the thread
/// that polls the port, which does both directions.

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/member.h"
#include "datapath/node/gsi_queue.h"
#include "datapath/node/xrc_targets.h"
#include "datapath/wire/bytes.h"
#include "pmd/base/counter.h"
#include "pmd/bridge/frame.h"
#include "pmd/decorator.h"
#include "pmd/rss/handover_ring.h"

namespace verbline::node {

#define VERBLINE_NODE_PORT_COUNTERS(X)                                                        \
    X(gsi_rx_packets, "frames for QP1 or IPoIB's queue pair handed to the node's control")    \
    X(gsi_rx_dropped_full, "such frames while too many were waiting")                         \
    X(gsi_tx_packets, "frames of the node's control that went out by this port")              \
    X(gsi_tx_dropped, "such frames while too many were waiting")                              \
    X(gsi_tx_dropped_full, "such frames that the port had no room for")                       \
    X(rx_dropped_not_rdma, "frames of a process without an RDMA packet")                      \
    X(rx_dropped_foreign_qpn, "datagrams of a process from another's queue pair, or for QP0") \
    X(xrc_tx_packets, "frames of shared XRC targets that went out by this port")              \
    X(rx_ignored, "frames from the wire for other hosts, or without an RDMA packet, which the kernel serves")

struct NodePortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NODE_PORT_COUNTERS)
};

/// The node's parts that its ports hand frames to.
struct NodeParts {
    GsiQueue& gsi;
    XrcTargets& targets;
};

class NodePort : public pmd::Decorator {
public:
    static constexpr unsigned most_injected = 256, most_relayed = 512;

    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept final;
    void counters(const CounterVisitor& visit) const override;

    /// The node's MAC address is another now. Any thread; frames under way may still have the old one.
    void set_port(const wire::MacAddress& port) noexcept {
        port_.store(pmd::mac_number(port), std::memory_order_relaxed);
    }

    /// Sends a frame by this port with its next `rx_burst`. Takes ownership.
    void inject(rte_mbuf* frame) noexcept;
    /// The same, for frames of XrcTargets. False: too many wait, and the frame stays the caller's.
    bool relay(rte_mbuf* frame) noexcept { return relayed_.push({&frame, 1}) == 1; }

protected:
    enum class Verdict : std::uint8_t { pass, gsi, pass_and_gsi, taken, drop };
    struct Rings {
        pmd::HandoverRing injected, relayed;
    };

    /// `parts` outlive the port; `member`: whose port it is, node_itself for the wire's; `port`: the node's MAC
    /// address.
    NodePort(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts, link::MemberId member, Rings rings,
             const wire::MacAddress& port)
        : Decorator(std::move(inner)),
          parts_(parts),
          member_(member),
          port_(pmd::mac_number(port)),
          injected_(std::move(rings.injected)),
          relayed_(std::move(rings.relayed)) {}
    ~NodePort() override;
    /// `queue` of the wire, which may have several ports.
    static Result<Rings> make_rings(const NodeParts& parts, link::MemberId member, unsigned queue = 0);

    /// What to do with a received frame, which holds at least the Ethernet header; may rewrite its MAC addresses. A
    /// frame that is dropped has been counted. Taken: it is not the port's any more.
    virtual Verdict classify(rte_mbuf& frame) noexcept = 0;

    link::MemberId member() const { return member_; }
    std::uint64_t port() const noexcept { return port_.load(std::memory_order_relaxed); }
    XrcTargets& shared_targets() const { return parts_.targets; }
    NodePortCounters& counted() { return counters_; }

private:
    std::size_t keep(pmd::Burst burst) noexcept;
    void hand_over(rte_mbuf* frame) noexcept;
    void hand_over_copy(const rte_mbuf& frame) noexcept;
    void send_injected(std::uint16_t queue) noexcept;
    void send_relayed(std::uint16_t queue) noexcept;

    const NodeParts parts_;
    const link::MemberId member_;
    std::atomic<std::uint64_t> port_;
    pmd::HandoverRing injected_, relayed_;
    std::array<rte_mbuf*, pmd::max_burst> relaying_{};  ///< from the ring, but not taken by the device yet
    pmd::Burst unsent_;                                 ///< of these
    NodePortCounters counters_;
};

void set_destination(rte_mbuf& frame, const wire::MacAddress& mac) noexcept;
void set_source(rte_mbuf& frame, const wire::MacAddress& mac) noexcept;
inline wire::Bytes bytes_of(const rte_mbuf& frame) noexcept {
    return {rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len};
}

}  // namespace verbline::node
