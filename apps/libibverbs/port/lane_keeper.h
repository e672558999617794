// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Notices that the hub or node of the port's lane has ended, and joins it again once it has been restarted: with the
/// same addresses, multicast groups and port numbers, and as the same member of a node, so that queue pairs keep their
/// numbers.
///
///     joined ── the hub hangs up ──> ended ── join, four times a second ──> returned: groups, ports, a new memif path
///
/// Threads: the one that runs the link's upkeep.

#include <cstdint>
#include <mutex>
#include <string>

#include "apps/libibverbs/link/hub_broker.h"
#include "apps/libibverbs/link/link.h"
#include "apps/libibverbs/port/link_groups.h"
#include "apps/libibverbs/port/link_ports.h"
#include "apps/libibverbs/port/link_subnet.h"
#include "apps/libibverbs/port/xrc_sharing.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class LaneKeeper {
public:
    enum class News : std::uint8_t { nothing, ended, returned };

    /// `hub_mutex` serialises requests to the hub, which other parts of the port make, too.
    LaneKeeper(OpenedLink& link, LinkGroups& groups, LinkPorts& ports, LinkSubnet& subnet, XrcSharing& xrc,
               HubBroker& broker, std::mutex& hub_mutex)
        : link_(link),
          groups_(groups),
          ports_(ports),
          subnet_(subnet),
          xrc_(xrc),
          broker_(broker),
          hub_mutex_(hub_mutex) {}
    LaneKeeper(const LaneKeeper&) = delete;
    LaneKeeper& operator=(const LaneKeeper&) = delete;

    /// Prints why the lane cannot be joined again, once for each reason. Blocks only while a hub that has returned
    /// answers. Nothing on a link without a hub.
    News look(Time now);

private:
    bool has_ended() const;
    Result<void> rejoin();
    void complain_once(const Error& error);

    OpenedLink& link_;
    LinkGroups& groups_;
    LinkPorts& ports_;
    LinkSubnet& subnet_;
    XrcSharing& xrc_;
    HubBroker& broker_;
    std::mutex& hub_mutex_;
    bool joined_ = true;
    Time next_attempt_ = 0;
    std::string complaint_;  ///< the last one
};

}  // namespace verbline::verbs
