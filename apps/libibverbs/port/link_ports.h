// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reserves port numbers of the RDMA CM port spaces: at the hub for a link that is a lane of one, else among the
/// programs on this host that share the link's MAC address. A hub knows addresses and reuse
/// (control/rdmacm/port_use.h); without one a number is one program's, whose ids may share it by these rules.
///
/// Threads: any. Blocks until the hub has answered.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "apps/libibverbs/link/link.h"
#include "control/host/port_reservations.h"
#include "control/rdmacm/port_use.h"

namespace verbline::verbs {

using rdmacm::PortUse;

class LinkPorts {
public:
    /// `hub_mutex` serialises requests to the hub, which other parts of the port make, too.
    LinkPorts(const OpenedLink& link, std::mutex& hub_mutex) : link_(link), hub_mutex_(hub_mutex) {}
    LinkPorts(const LinkPorts&) = delete;
    LinkPorts& operator=(const LinkPorts&) = delete;

    /// Reserves `port` for a use, or an ephemeral one if it is 0, and returns the number. EADDRINUSE: another use is in
    /// the way, be it the caller's.
    Result<std::uint16_t> reserve(std::uint16_t space, std::uint16_t port, const PortUse& use = {});
    /// Changes a use; on failure it stays as it was. ENOENT: there is no such use.
    Result<void> rebind(std::uint16_t space, std::uint16_t port, const PortUse& from, const PortUse& to);
    Result<void> release(std::uint16_t space, std::uint16_t port, const PortUse& use = {});
    /// True if another program that receives our packets as well has reserved the port. Never queries the hub: a lane's
    /// packets reach its own program only.
    bool elsewhere(std::uint16_t space, std::uint16_t port);

    /// Reserves all ports again at a hub that knows of none. Requires the hub's mutex. EADDRINUSE: another program has
    /// taken one meanwhile.
    Result<void> restore() const;

    /// In the child of a fork.
    void abandon() {
        held_.clear();
        host_.reset();
    }

private:
    using Port = std::pair<std::uint16_t, std::uint16_t>;  ///< space, number
    using Held = std::multimap<Port, PortUse>;

    Held::iterator find(Port port, const PortUse& use);
    Result<void> check(Port port, const PortUse& use, const PortUse* instead_of) const;
    Result<void> open_host();
    Result<std::uint16_t> reserve_on_host(Port port, const PortUse& use);
    Result<void> release_on_host(Port port);

    const OpenedLink& link_;
    std::mutex& hub_mutex_;
    Held held_;                                   ///< under the mutex
    std::optional<host::PortReservations> host_;  ///< under the mutex; made for the first port
};

}  // namespace verbline::verbs
