// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the node's server says of shared XRC targets, as the datapath takes it.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "control/hub/identity.h"
#include "control/hub/xrc_host.h"
#include "control/mad/port_facts.h"
#include "datapath/node/xrc_targets.h"

namespace verbline::cli {

/// Control thread. `port` outlives the object; its addresses may change.
class NodeXrcHost final : public hub::XrcHost {
public:
    /// On a soft fabric: what the subnet manager has given the port.
    using Subnet = std::function<mad::PortFacts()>;
    NodeXrcHost(node::XrcTargets& targets, const hub::NodeIdentity& port, Subnet subnet)
        : targets_(targets), port_(port), subnet_(std::move(subnet)) {}

    Result<void> start(const hub::XrcTarget& target) override;
    void stop(wire::Qpn target) override { targets_.stop(target); }
    void join(wire::Qpn target, hub::LaneId member, bool ready) override;
    void leave(wire::Qpn target, hub::LaneId member) override;
    std::vector<std::pair<wire::Qpn, wire::NakCode>> take_failures() override { return targets_.take_failures(); }

private:
    bool is_own(const wire::Gid& gid) const;
    Result<node::XrcTargets::Peer> peer_on_ethernet(const hub::XrcTarget& target) const;
    Result<node::XrcTargets::Peer> peer_on_fabric(const hub::XrcTarget& target) const;

    node::XrcTargets& targets_;
    const hub::NodeIdentity& port_;
    const Subnet subnet_;
};

}  // namespace verbline::cli
