// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet of a port of a soft fabric, as FabricNetwork asks it: the subnet administrator and the neighbours on the
/// link, with which a port of the program's own talks itself (own_subnet.h), and a node for its members
/// (node_subnet.h).
///
/// Belongs to the control thread; handlers are called there, before a call returns or later.

#include <cstdint>
#include <functional>
#include <optional>

#include "control/rdmacm/network.h"
#include "control/sa/membership.h"
#include "datapath/wire/path_record.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

class Subnet {
public:
    using Ticket = rdmacm::NetworkPort::Ticket;
    struct Handlers {
        std::function<void(Ticket ticket, const Result<wire::Gid>& gid)> neighbour;
        std::function<void(Ticket ticket, const Result<wire::PathRecord>& path)> path;
        /// Again, whenever the group's record has changed.
        std::function<void(Ticket ticket, const wire::Gid& mgid, const Result<sa::Group>& group)> group;
        std::function<void(const sa::Group& group)> broadcast;  ///< IPoIB's, when it is known or has changed
    };

    Subnet() = default;
    Subnet(const Subnet&) = delete;
    Subnet& operator=(const Subnet&) = delete;
    virtual ~Subnet() = default;

    /// `pkey`: of the partition that the port's address is in from which `to` is to be reached.
    virtual void find_neighbour(Ticket ticket, const wire::Gid& to, wire::PKey pkey) = 0;
    virtual void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey) = 0;
    virtual void join(Ticket ticket, const rdmacm::GroupRequest& request) = 0;
    virtual void leave(Ticket ticket, const wire::Gid& mgid) = 0;
    /// Withdraws what was asked with the ticket, but not a membership.
    virtual void cancel(Ticket ticket) = 0;
    virtual void counters(const CounterVisitor& visit) const = 0;
};

}  // namespace verbline::verbs
