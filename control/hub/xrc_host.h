// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The datapath of a node's shared XRC targets, as its server drives it.

#include <utility>
#include <vector>

#include "control/hub/xrc_registry.h"
#include "pmd/base/error.h"

namespace verbline::hub {

/// Called on the control thread.
class XrcHost {
public:
    virtual ~XrcHost() = default;
    /// Connects a target in RTR or RTS, without members. EINVAL: it has a source that is none of the port's.
    virtual Result<void> start(const XrcTarget& target) = 0;
    virtual void stop(wire::Qpn target) = 0;
    /// The member gets requests for its shared receive queues from when it is `ready`, i.e. has the target, too.
    virtual void join(wire::Qpn target, LaneId member, bool ready) = 0;
    virtual void leave(wire::Qpn target, LaneId member) = 0;
    /// Of connections that have ended since the last call, the NAK that the peer got.
    virtual std::vector<std::pair<wire::Qpn, wire::NakCode>> take_failures() = 0;
};

}  // namespace verbline::hub
