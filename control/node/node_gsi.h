// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// QP1 of a node: takes frames out of the ports' queue, has them routed, and puts them into other ports.
///
///     GsiQueue ──┬── IPoIB ──> Setup::ipoib
///                └─> open_gsi_frame ──> GsiRouter ──┬── Deliver, Transmit: the frame itself
///                                                   └── Answer, Teardown: a frame of our own
///
/// Runs on the control thread's loop.

#include <array>
#include <functional>
#include <memory>

#include "control/loop/loop.h"
#include "control/node/gsi_router.h"
#include "datapath/node/gsi_queue.h"

struct rte_mempool;

namespace verbline::node {

class NodeGsi {
public:
    struct Setup {
        GsiRouter::Setup router;
        wire::MacAddress mac{};       ///< the port's
        rte_mempool* pool = nullptr;  ///< for frames of our own
        /// Takes a frame of the queue that is not for QP1, but for IPoIB's queue pair; none on Ethernet.
        std::function<void(wire::Bytes frame)> ipoib;
        /// Puts a frame into the port of a member, or, for none, into the link's; frees it if the member has left.
        std::function<void(PeerMember to, rte_mbuf* frame)> inject;
    };

    /// `queue` and `loop` outlive the object.
    static Result<std::unique_ptr<NodeGsi>> create(control::Loop& loop, GsiQueue& queue, Setup setup);
    NodeGsi(const NodeGsi&) = delete;
    NodeGsi& operator=(const NodeGsi&) = delete;

    /// The port's MAC address is another now.
    void set_mac(const wire::MacAddress& mac) { setup_.mac = mac; }
    /// The member's port is gone: ends its connections.
    void leave(link::MemberId member);
    bool closing(link::MemberId member) const { return router_.closing(member); }
    void counters(const CounterVisitor& visit) const;

private:
    NodeGsi(control::Loop& loop, GsiQueue& queue, Setup setup);
    void receive();
    void take(rte_mbuf* frame);
    void take_datagram(rte_mbuf* frame);
    void drop(rte_mbuf* frame, GsiDrop why);
    bool for_this_node(const rte_mbuf& frame) const;
    void deliver(PeerMember from, link::MemberId to, rte_mbuf* frame);
    void send(PeerMember to, const GsiHeaders& headers, mad::MadBytes mad);
    void send(const std::vector<Teardown>& teardowns);
    void arm();

    control::Loop& loop_;
    GsiQueue& queue_;
    Setup setup_;  ///< constant, but for `mac`
    GsiRouter router_;
    CountersBy<GsiDrop> drops_;
    Counter answers_, teardowns_;
    control::Watch watch_;
    control::Timer timer_;
};

}  // namespace verbline::node
