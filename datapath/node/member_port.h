// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The node's end of a member's lane. A process builds its own headers, so this port checks those that hardware would
/// have built: it carries RDMA packets only, datagrams only from the member's own queue pairs, and MADs only by way of
/// the node's connection manager.
///
///     from the process   source: the port's MAC ──> the member's, by which the switch knows it
///                        destination: as it is; a member's if the packet is for this node; XrcTargets, if it is for
///                        a target that members share, or a member's answer there
///     to the process     unchanged

#include "datapath/node/node_port.h"

namespace verbline::node {

class MemberPort final : public NodePort {
public:
    /// `port`: the node's MAC address; `parts` outlive the object.
    static Result<std::unique_ptr<MemberPort>> create(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts,
                                                      link::MemberId member, const wire::MacAddress& port);

private:
    MemberPort(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts, link::MemberId member, Rings rings,
               const wire::MacAddress& port);
    Verdict classify(rte_mbuf& frame) noexcept override;
    bool is_for_node(const rte_mbuf& frame) const noexcept;
    bool foreign(wire::Bytes frame, std::size_t bth_at) const noexcept;

    const wire::MacAddress own_;  ///< the member's
    const std::uint64_t node_;
};

}  // namespace verbline::node
