// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet behind a node's port on a soft fabric, for all its members: one cache of paths, one membership of each
/// group, and one IPoIB address resolution for each partition that the node has addresses in.
///
///     members ── find, join, leave ──> SubnetService ──┬──> sa::Agent: Paths, Groups ──> mad::Transport ──> the SA
///        <─────────── tell ────────────────┘           └──> ipoib::IpoibNeighbours ──> send, received: frames
///
/// Owned by the control thread; transport and loop outlive it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "control/hub/subnet_host.h"
#include "control/ipoib/neighbours.h"
#include "control/loop/loop.h"
#include "control/mad/transport.h"
#include "control/sa/agent.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/bytes.h"
#include "pmd/base/counter.h"

namespace verbline::node {

#define VERBLINE_SUBNET_SERVICE_COUNTERS(X)                                              \
    X(subnet_neighbour_queries, "IP addresses that processes asked the node to resolve") \
    X(subnet_path_queries, "paths that processes asked the node for")                    \
    X(subnet_queries_refused, "questions of a process that had too many open")           \
    X(subnet_joins_refused, "joins of a process that had too many groups")               \
    X(ipoib_rx_packets, "frames for the node's IPoIB queue pair")                        \
    X(ipoib_rx_dropped_invalid, "such frames that are damaged, or have another Q_Key")   \
    X(ipoib_tx_packets, "frames of the node's IPoIB queue pair")                         \
    X(ipoib_tx_dropped_no_mbuf, "such frames that there was no buffer for")              \
    X(ipoib_groups_failed, "IPoIB's own groups that the link did not let the port into")

struct SubnetServiceCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SUBNET_SERVICE_COUNTERS)
};

class SubnetService final : public hub::SubnetHost {
public:
    /// Of one member: questions without an answer yet; groups, each user's counted.
    static constexpr std::size_t max_questions = 256, max_joins = 256;

    struct Setup {
        std::vector<link::InterfaceAddress> addresses;  ///< of IPoIB; the default partition's link-local one is added
        std::function<bool(wire::Bytes frame)> send;    ///< false: there is no buffer for it
        /// Lets the port into a group of IPoIB's on the link. Another call with another LID replaces the first.
        std::function<Result<void>(const wire::Gid& mgid, wire::Lid mlid)> join_link;
        std::function<void(hub::LaneId member, const hub::Message& what)> tell;
        std::function<void()> changed;  ///< what `port` returns
        /// The subnet manager has given the port another LID, before members are told. Groups are joined again.
        std::function<void()> moved;
    };

    SubnetService(mad::Transport& transport, control::Loop& loop, Setup setup);
    ~SubnetService() override;
    SubnetService(const SubnetService&) = delete;
    SubnetService& operator=(const SubnetService&) = delete;

    hub::SubnetPort port() const override;
    bool has_address(const hub::PortUse& use) const override;
    void find(hub::LaneId member, const hub::FindNeighbour& wanted) override;
    void find(hub::LaneId member, const hub::FindPath& wanted) override;
    void join(hub::LaneId member, const hub::JoinSubnetGroup& wanted) override;
    void leave(hub::LaneId member, const hub::LeaveSubnetGroup& which) override;
    void forget(hub::LaneId member) override;

    /// A frame that is not for QP1.
    void received(wire::Bytes frame);

    const sa::Agent& agent() const { return agent_; }
    void counters(const CounterVisitor& visit) const;

private:
    struct Member {
        std::size_t questions = 0;
        std::set<ipoib::IpoibNeighbours::Ticket> tickets;  ///< of neighbours asked for
        std::set<std::pair<wire::Gid, std::uint32_t>> joins;
    };

    using Neighbours = ipoib::IpoibNeighbours;

    void open_partition(wire::PKey pkey);
    Neighbours* neighbours_in(wire::PKey pkey) const;
    const Neighbours& default_neighbours() const;
    wire::PKey own_pkey(wire::PKey pkey) const;
    bool may_ask(hub::LaneId member);
    void answered(hub::LaneId member, const hub::Message& what);
    void send(wire::PKey pkey, const wire::AddressHandle& to, wire::Qpn qpn, wire::Bytes packet);
    void granted(const wire::Gid& mgid, const sa::Group& group);
    void granted(hub::LaneId member, const hub::JoinSubnetGroup& wanted,
                 const std::expected<sa::Group, sa::SaStatus>& answer);
    void event(mad::PortEvent event);

    const Setup setup_;
    control::Loop& loop_;
    wire::Lid lid_;  ///< as `moved` was called last
    std::uint32_t reregistrations_ = 0;
    std::map<hub::LaneId, Member> members_;
    ipoib::IpoibNeighbours::Ticket last_ticket_ = 0;
    wire::Psn psn_;
    SubnetServiceCounters counters_;
    sa::Agent agent_;
    /// By partition number: of the default one, and of those that addresses are in.
    std::map<std::uint16_t, std::unique_ptr<Neighbours>> neighbours_;
    sa::Observation port_events_, losses_;
};

}  // namespace verbline::node
