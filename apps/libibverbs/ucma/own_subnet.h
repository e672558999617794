// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet of a port that this program has for itself. Instead of FabricWatch it tells the port what the subnet
/// manager gives it.
///
///     find_neighbour ──> IpoibNeighbours ── ARP, ND ──> IpoibQueuePair ──> VerbsPort   for each partition
///     find_path ───────> sa::Paths: the cache ──┐                                      that addresses are in
///     join, leave ─────> sa::Groups ────────────┴──> sa::Agent ──> ibsim ──> OpenSM

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "apps/libibverbs/ucma/ipoib_queue_pair.h"
#include "apps/libibverbs/ucma/subnet.h"
#include "control/ipoib/neighbours.h"
#include "control/loop/loop.h"
#include "control/mad/transport.h"
#include "control/sa/agent.h"

namespace verbline::verbs {

class OwnSubnet final : public Subnet {
public:
    /// Attaches to the fabric's simulator once more, until destroyed. `addresses`: of IPoIB, the link-local one among
    /// them.
    static Result<std::unique_ptr<OwnSubnet>> create(VerbsPort& port, control::Loop& loop,
                                                     const std::vector<link::InterfaceAddress>& addresses,
                                                     Handlers handlers);
    ~OwnSubnet() override;

    void find_neighbour(Ticket ticket, const wire::Gid& to, wire::PKey pkey) override;
    void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey) override;
    void join(Ticket ticket, const rdmacm::GroupRequest& request) override;
    void leave(Ticket ticket, const wire::Gid& mgid) override;
    void cancel(Ticket ticket) override;
    void counters(const CounterVisitor& visit) const override;

private:
    /// As an interface of the kernel's, ib0.8001.
    struct Partition {
        std::unique_ptr<IpoibQueuePair> pair;
        std::unique_ptr<ipoib::IpoibNeighbours> neighbours;
        control::Watch watch;
    };

    OwnSubnet(VerbsPort& port, Handlers handlers) : port_(port), handlers_(std::move(handlers)) {}
    Result<void> attach(control::Loop& loop, const std::vector<link::InterfaceAddress>& addresses);
    Result<void> open_partition(control::Loop& loop, wire::PKey pkey, std::vector<link::InterfaceAddress> addresses);
    Partition* partition(wire::PKey pkey);
    void granted(wire::PKey pkey, const wire::Gid& mgid, const sa::Group& group);
    void granted(Ticket ticket, const wire::Gid& mgid, const std::expected<sa::Group, sa::SaStatus>& group);
    void port_event(mad::PortEvent event);

    VerbsPort& port_;
    const Handlers handlers_;
    std::unique_ptr<mad::Transport> transport_;
    std::unique_ptr<sa::Agent> agent_;
    sa::Observation port_events_, losses_;
    std::map<std::uint16_t, Partition> partitions_;  ///< by number
};

}  // namespace verbline::verbs
