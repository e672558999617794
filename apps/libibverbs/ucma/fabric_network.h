// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of a soft fabric as RDMA CM needs it. Unlike Ethernet it needs queries: IP addresses are those of an IPoIB
/// interface, resolved by its ARP and ND; paths and groups come from the subnet administrator.
///
///     find_neighbour, find_path, join, leave ──> Subnet ──┬── OwnSubnet    the port is this program's
///                                                         └── NodeSubnet   it is a node's, which asks for all
///
/// Threads: as PortNetwork. The subnet belongs to the control thread: queries are posted there as tasks, answers are
/// delivered with the service held.

#include <map>
#include <memory>
#include <optional>

#include "apps/libibverbs/ucma/port_network.h"
#include "apps/libibverbs/ucma/subnet.h"

namespace verbline::verbs {

class FabricNetwork final : public PortNetwork {
public:
    /// Waits for IPoIB's broadcast group, two seconds at most. Call before the control thread starts.
    static Result<std::unique_ptr<FabricNetwork>> create(VerbsPort& port, Callbacks callbacks);
    ~FabricNetwork() override;

    Facts facts() const override;
    void find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to, NeighbourHandler handler) override;
    void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) override;
    void join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) override;
    void leave(Ticket ticket, const wire::Gid& mgid) override;
    void cancel(Ticket ticket) override;

    /// On the control thread only.
    void counters(const CounterVisitor& visit) const override;

private:
    using PortNetwork::PortNetwork;
    Result<void> attach();
    void await_broadcast_group();
    Subnet::Handlers handlers();
    void granted(const sa::Group& broadcast);
    void granted(Ticket ticket, const wire::Gid& mgid, const Result<sa::Group>& group);
    void leave_now(Ticket ticket, const wire::Gid& mgid);
    template <class Handler, class Answer>
    bool answer(std::map<Ticket, Handler>& waiting, Ticket ticket, const Answer& what);

    std::vector<link::InterfaceAddress> addresses_;  ///< of IPoIB
    std::unique_ptr<Subnet> subnet_;
    std::map<Ticket, sa::Group> granted_;  ///< by member, as last granted by the SA

    // Below: requires the service.
    std::map<Ticket, NeighbourHandler> finding_;
    std::map<Ticket, PathHandler> resolving_;
    std::map<Ticket, GroupHandler> joining_;
    std::optional<sa::Group> broadcast_;
    bool attached_ = false;  ///< the control thread may be there
};

}  // namespace verbline::verbs
