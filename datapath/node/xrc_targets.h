// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The XRC target queue pairs that members of a node share: their packets on the way between peer and members.
///
///     peer's requests   WirePort, MemberPort ── route ──> XrcRelay ──┬──> ring of the member's port
///                                                                    └──> held, until the member before has answered
///     members' answers  MemberPort ── route ──> XrcRelay ──> back to the port, now addressed to the peer
///
/// QPN, PSN and MSN are changed together with the ICRC, which stays the sender's check (wire/icrc_patch.h), and on the
/// soft fabric with the VCRC.
///
/// Threads: `route` by all poll threads, the rest by the control thread. One lock, taken for packets of shared targets
/// alone and held while the headers of one are changed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "datapath/link/envelope.h"
#include "datapath/link/member.h"
#include "datapath/node/xrc_relay.h"
#include "pmd/base/counter.h"

struct rte_mbuf;
struct rte_mempool;

namespace verbline::transport {
struct Packet;
}

namespace verbline::node {

class NodePort;

#define VERBLINE_XRC_TARGET_COUNTERS(X)                                                             \
    X(xrc_requests, "packets of peers passed to the member that has the shared receive queue")      \
    X(xrc_answers, "packets of members passed to peers")                                            \
    X(xrc_held, "packets of peers held until another member had answered")                          \
    X(xrc_dropped_full, "such packets while too many were held")                                    \
    X(xrc_dropped_order, "packets of peers out of order, or after the target's failure")            \
    X(xrc_dropped_unknown, "packets for a shared target that is not connected, or not by its peer") \
    X(xrc_dropped_answer, "packets of members that answer nothing")                                 \
    X(xrc_dropped_malformed, "packets for shared targets with headers that are none of XRC's")      \
    X(xrc_dropped_port, "packets for members whose port had no room or was closed")                 \
    X(xrc_naks, "NAKs of the node itself: gaps, shared receive queues and members that do not exist")

struct XrcTargetCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_XRC_TARGET_COUNTERS)
};

class XrcTargets {
public:
    static constexpr std::size_t most_held = 1024;  ///< of all targets

    /// The other end of a target's connection.
    struct Peer {
        wire::Qpn qpn{};
        wire::Psn first;  ///< expected in its first request
        wire::PKey pkey{0xffff};
        std::uint8_t mtu_shift = 10;
        link::Envelope envelope{};  ///< towards it
        link::MemberId port{};      ///< by which its packets come: a member's, or node_itself for the link's
    };

    /// `wake` makes the poll threads look at their ports, and is called by any of them; `pool` is for NAKs.
    XrcTargets(rte_mempool* pool, std::function<void()> wake);
    ~XrcTargets();
    XrcTargets(const XrcTargets&) = delete;
    XrcTargets& operator=(const XrcTargets&) = delete;

    /// Until `detach`. The link's port is that of link::node_itself.
    void attach(link::MemberId member, NodePort& port);
    /// The member is gone: it leaves all targets.
    void detach(link::MemberId member);

    /// Connects the target, with no members as yet. Replaces an earlier connection.
    void start(wire::Qpn target, const Peer& peer);
    void stop(wire::Qpn target);
    /// Does nothing if the target is not connected. `ready`: the member has its leg; until then its packets are held.
    void join(wire::Qpn target, link::MemberId member, bool ready);
    void leave(wire::Qpn target, link::MemberId member);

    /// Of a connection that has failed since the last call, the NAK.
    using Failure = std::pair<wire::Qpn, wire::NakCode>;
    std::vector<Failure> take_failures();

    /// A received frame for a shared target of this node (link::is_shared_target), or to its peer: members address
    /// their answers to the target's number, at the peer's GID and LID; on Ethernet at the node's own MAC address, so
    /// that they are known from what is for the same number elsewhere. `origin`: whose port
    /// received it, node_itself for the link's, whose frames are always taken. True: taken. False: it is for the
    /// target's peer now, and goes on by its addresses.
    bool route(rte_mbuf& frame, link::MemberId origin) noexcept;

    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    /// A request's frame, and where its parts are.
    struct Held {
        rte_mbuf* frame = nullptr;
        XrcRequest request;
        link::Carrier carrier{};
        std::uint32_t bth_at = 0, end = 0;  ///< as link::Arrival
        bool ack_request = false;
    };
    /// As many as a relay holds, which counts them.
    class HeldQueue {
    public:
        bool empty() const { return count_ == 0; }
        const Held& front() const { return slots_[first_]; }
        void pop() { first_ = (first_ + 1) % XrcRelay::most_held, --count_; }
        void push(const Held& request) { slots_[(first_ + count_++) % XrcRelay::most_held] = request; }

    private:
        std::array<Held, XrcRelay::most_held> slots_{};
        std::size_t first_ = 0, count_ = 0;
    };
    struct Target {
        Target(const Peer& to, wire::Qpn number) : peer(to), qpn(number), relay(to.first) {}
        Peer peer;
        wire::Qpn qpn;
        XrcRelay relay;
        HeldQueue held;
        bool failure_told = false;
    };

    void receive(Target& target, const transport::Packet& packet, rte_mbuf& frame) noexcept;
    bool answer(Target& target, const transport::Packet& packet, rte_mbuf& frame, link::MemberId member) noexcept;
    void act(const Target& target, const XrcRelay::Decision& decision, const Held& request) noexcept;
    void pass(const XrcRelay::Decision& decision, const Held& request) noexcept;
    void hold(Target& target, const Held& request);
    void release(Target& target) noexcept;
    void drop_held(Target& target) noexcept;
    void tell(const Target& target, wire::Psn psn, const wire::Aeth& aeth) noexcept;
    void send(link::MemberId to, rte_mbuf* frame) noexcept;
    void depart(Target& target, link::MemberId member) noexcept;

    rte_mempool* pool_;
    std::function<void()> wake_;
    std::mutex mutex_;
    std::map<wire::Qpn, std::unique_ptr<Target>> targets_;
    std::map<link::MemberId, NodePort*> ports_;
    std::size_t held_ = 0;
    XrcTargetCounters counters_;
};

}  // namespace verbline::node
