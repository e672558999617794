// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reserves port numbers of the RDMA CM port spaces exclusively: at the hub for a link that is a lane of one, else
/// among the programs on this host that share the link's MAC address.
///
/// Threads: any. Blocks until the hub has answered.

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "apps/libibverbs/port/link.h"
#include "control/host/port_reservations.h"

namespace verbline::verbs {

class LinkPorts {
public:
    /// `hub_mutex` serialises requests to the hub, which other parts of the port make, too.
    LinkPorts(const OpenedLink& link, std::mutex& hub_mutex) : link_(link), hub_mutex_(hub_mutex) {}
    LinkPorts(const LinkPorts&) = delete;
    LinkPorts& operator=(const LinkPorts&) = delete;

    /// Reserves `port`, or an ephemeral one if it is 0, and returns the number. EADDRINUSE: it is reserved already, be
    /// it by the caller.
    Result<std::uint16_t> reserve(std::uint16_t space, std::uint16_t port);
    Result<void> release(std::uint16_t space, std::uint16_t port);
    /// True if another program that receives our packets as well has reserved the port. Never queries the hub: a lane's
    /// packets reach its own program only.
    bool elsewhere(std::uint16_t space, std::uint16_t port);

    /// Reserves all ports again at a hub that knows of none. Requires the hub's mutex. EADDRINUSE: another program has
    /// taken one meanwhile.
    Result<void> restore() const;

    /// In the child of a fork.
    void abandon() { host_.reset(); }

private:
    Result<void> open_host();
    Result<std::uint16_t> reserve_at_hub(std::uint16_t space, std::uint16_t port);

    const OpenedLink& link_;
    std::mutex& hub_mutex_;
    std::set<std::pair<std::uint16_t, std::uint16_t>> at_hub_;  ///< under the mutex: space, number
    std::optional<host::PortReservations> host_;                ///< under the mutex; made for the first port
};

}  // namespace verbline::verbs
