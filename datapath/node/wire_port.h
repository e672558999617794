// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The port of a node's link: on the wire all members have its addresses.
///
///     from the wire   destination: the port's MAC ──> that of the member whose queue pair the packet names
///                     QP1, IPoIB's queue pair ──> the node's control thread; groups unchanged, of which that
///                     thread gets a copy of ARP and ND; all else is not for members
///     to the wire     source: a member's MAC ──> the port's

#include "datapath/node/node_port.h"

namespace verbline::node {

class WirePort final : public NodePort {
public:
    /// `port`: the node's MAC address; `parts` outlive the object. A link of several queues has a port for each: frames
    /// of the control thread and of XrcTargets go out by that of queue 0.
    static Result<std::unique_ptr<WirePort>> create(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts,
                                                    const wire::MacAddress& port, unsigned queue = 0);

    std::uint16_t tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;

private:
    WirePort(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts, Rings rings, const wire::MacAddress& port);
    Verdict classify(rte_mbuf& frame) noexcept override;
};

}  // namespace verbline::node
