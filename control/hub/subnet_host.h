// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet behind a node's port on a soft fabric, as its server asks it for the members.

#include "control/hub/registry.h"
#include "control/hub/subnet_messages.h"

namespace verbline::hub {

/// Called on the control thread. What is found is said by Server::tell_subnet, before the call returns or later.
class SubnetHost {
public:
    virtual ~SubnetHost() = default;
    virtual SubnetPort port() const = 0;
    /// Whether the use's address is one that the subnet gives the port: its GID, for AF_IB; IPoIB's link-local one.
    virtual bool has_address(const PortUse& use) const = 0;
    virtual void find(LaneId member, const FindNeighbour& wanted) = 0;
    virtual void find(LaneId member, const FindPath& wanted) = 0;
    virtual void join(LaneId member, const JoinSubnetGroup& wanted) = 0;
    virtual void leave(LaneId member, const LeaveSubnetGroup& which) = 0;
    /// The member has ended: leaves its groups, and forgets its questions.
    virtual void forget(LaneId member) = 0;
};

}  // namespace verbline::hub
