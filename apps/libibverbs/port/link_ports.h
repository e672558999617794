// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Port numbers of the connection manager's port spaces, as no other program has them: by the word of the hub for links
/// that are a lane of one, else among the programs on this host that share the link's MAC address.
///
/// Threads: any. A hub's answer is waited for.

#include <cstdint>
#include <mutex>
#include <optional>

#include "apps/libibverbs/port/link.h"
#include "control/host/port_reservations.h"

namespace verbline::verbs {

class LinkPorts {
public:
    /// `hub_mutex`: of the conversation with the hub, which others lead, too.
    LinkPorts(const OpenedLink& link, std::mutex& hub_mutex) : link_(link), hub_mutex_(hub_mutex) {}
    LinkPorts(const LinkPorts&) = delete;
    LinkPorts& operator=(const LinkPorts&) = delete;

    /// `port`, or 0 for an ephemeral one. EADDRINUSE: who has it; who asks twice is no exception.
    Result<std::uint16_t> reserve(std::uint16_t space, std::uint16_t port);
    Result<void> release(std::uint16_t space, std::uint16_t port);
    /// Whether another program has it that gets our packets as well. Asks nobody: a lane's packets are its program's.
    bool elsewhere(std::uint16_t space, std::uint16_t port);

    /// In the child of a fork.
    void abandon() { host_.reset(); }

private:
    Result<void> open_host();

    const OpenedLink& link_;
    std::mutex& hub_mutex_;
    std::optional<host::PortReservations> host_;  ///< under the mutex; made for the first port
};

}  // namespace verbline::verbs
