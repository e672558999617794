// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of a soft fabric as RDMA CM needs it. Unlike Ethernet it needs queries: IP addresses are those of an IPoIB
/// interface, resolved by its ARP and ND; paths and groups come from the subnet administrator.
///
///     find_neighbour ──> IpoibNeighbours ── ARP, ND ──> IpoibQueuePair ──> VerbsPort
///     find_path ───────> sa::Paths: the cache ──┐
///     join, leave ─────> sa::Groups ────────────┴──> sa::Agent ──> ibsim ──> OpenSM
///
/// Threads: as PortNetwork. The objects below it belong to the control thread: queries are posted there as tasks,
/// answers are delivered with the service held.

#include <map>
#include <memory>
#include <optional>

#include "apps/libibverbs/ucma/ipoib_queue_pair.h"
#include "apps/libibverbs/ucma/port_network.h"
#include "control/ipoib/neighbours.h"
#include "control/mad/transport.h"
#include "control/sa/agent.h"

namespace verbline::verbs {

class FabricNetwork final : public PortNetwork {
public:
    /// Attaches to the fabric's simulator once more, until destroyed. Call before the control thread starts.
    static Result<std::unique_ptr<FabricNetwork>> create(VerbsPort& port, const InfinibandLink& link,
                                                         Callbacks callbacks);
    ~FabricNetwork() override;

    Facts facts() const override;
    void find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to, NeighbourHandler handler) override;
    void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) override;
    void join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) override;
    void leave(Ticket ticket, const wire::Gid& mgid) override;
    void cancel(Ticket ticket) override;

    /// This and `counters`: on the control thread only.
    const sa::PathCache& path_cache() const { return agent_->paths().cache(); }
    void counters(const CounterVisitor& visit) const override;

private:
    using PortNetwork::PortNetwork;
    Result<void> attach(const InfinibandLink& link);
    void await_broadcast_group();
    void granted(const wire::Gid& mgid, const sa::Group& group);
    void granted(Ticket ticket, const wire::Gid& mgid, const std::expected<sa::Group, sa::SaStatus>& answer);
    void leave_now(Ticket ticket, const wire::Gid& mgid);
    void port_event(mad::PortEvent event);
    template <class Handler, class Answer>
    bool answer(std::map<Ticket, Handler>& waiting, Ticket ticket, const Answer& what);

    std::vector<link::InterfaceAddress> addresses_;  ///< of IPoIB
    std::unique_ptr<mad::Transport> transport_;
    std::unique_ptr<sa::Agent> agent_;
    sa::Observation port_events_;
    std::unique_ptr<IpoibQueuePair> pair_;
    std::unique_ptr<ipoib::IpoibNeighbours> neighbours_;
    control::Watch watch_;
    std::map<Ticket, sa::Group> granted_;  ///< by member, as last granted by the SA

    // Below: requires the service.
    std::map<Ticket, NeighbourHandler> finding_;
    std::map<Ticket, PathHandler> resolving_;
    std::map<Ticket, GroupHandler> joining_;
    std::optional<sa::Group> broadcast_;
    bool attached_ = false;  ///< the control thread may be there
};

}  // namespace verbline::verbs
