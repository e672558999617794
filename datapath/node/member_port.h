// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The node's end of a member's lane. A process builds its own headers, so this port checks those that hardware would
/// have built: it carries RDMA packets only, datagrams only from the member's own queue pairs, and MADs only by way of
/// the node's connection manager.
///
///     from the process   source: the port's MAC ──> the member's, by which the switch knows it
///                        destination: as it is; a member's if the packet is for this node
///     to the process     unchanged

#include "datapath/node/node_port.h"

namespace verbline::node {

class MemberPort final : public NodePort {
public:
    /// `port`: the node's MAC address. `gsi` outlives the object.
    static Result<std::unique_ptr<MemberPort>> create(std::unique_ptr<pmd::NetDevice> inner, GsiQueue& gsi,
                                                      link::MemberId member, const wire::MacAddress& port);

private:
    MemberPort(std::unique_ptr<pmd::NetDevice> inner, GsiQueue& gsi, link::MemberId member, pmd::HandoverRing injected,
               const wire::MacAddress& port);
    Verdict classify(rte_mbuf& frame) noexcept override;
    bool foreign(wire::Bytes frame, std::size_t bth_at) const noexcept;

    const wire::MacAddress own_;  ///< the member's
    const std::uint64_t port_;
};

}  // namespace verbline::node
