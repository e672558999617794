// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Notices that the hub or node of the port's lane has ended, and joins it again once it has been restarted: with the
/// same addresses, multicast groups and port numbers, and as the same member of a node, so that queue pairs keep their
/// numbers.
///
///     joined ── the hub hangs up ──> ended ── join, four times a second ──> returned: groups, ports, a new memif path
///
/// On a soft fabric a port that is given another LID leaves its lane, and joins it anew with the MAC address of that:
/// at once, or when another port has given it up.
///
/// Threads: the one that runs the link's upkeep, but for `move` and `moving`.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
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

    /// The lane is to have this MAC address, from the next `look` on. Not of a node's, which has the port. Any thread.
    void move(const wire::MacAddress& mac);
    /// Since `move` until `moved`: that the lane's link goes down is no news. Any thread.
    bool moving() const { return moving_.load(std::memory_order_relaxed); }
    void moved() { moving_.store(false, std::memory_order_relaxed); }

private:
    bool has_ended() const;
    void leave_to_move(Time now);
    bool is_awaited(const Error& error, Time now) const;
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
    bool left_ = false;  ///< not joined, since it moves
    Time next_attempt_ = 0, patient_until_ = 0;
    std::atomic<bool> moving_{false};
    std::mutex move_mutex_;
    std::optional<wire::MacAddress> move_to_;
    std::string complaint_;  ///< the last one
};

}  // namespace verbline::verbs
