// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the node's server says of shared XRC targets, as the datapath takes it.

#include <memory>
#include <utility>
#include <vector>

#include "control/hub/identity.h"
#include "control/hub/xrc_host.h"
#include "datapath/node/xrc_targets.h"

namespace verbline::cli {

/// Control thread. `port` outlives the object; its addresses may change.
class NodeXrcHost final : public hub::XrcHost {
public:
    NodeXrcHost(node::XrcTargets& targets, const hub::NodeIdentity& port) : targets_(targets), port_(port) {}

    Result<void> start(const hub::XrcTarget& target) override;
    void stop(wire::Qpn target) override { targets_.stop(target); }
    void join(wire::Qpn target, hub::LaneId member, bool ready) override;
    void leave(wire::Qpn target, hub::LaneId member) override;
    std::vector<std::pair<wire::Qpn, wire::NakCode>> take_failures() override { return targets_.take_failures(); }

private:
    bool is_own(const wire::Gid& gid) const;

    node::XrcTargets& targets_;
    const hub::NodeIdentity& port_;
};

}  // namespace verbline::cli
