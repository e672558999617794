// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Queries of a device that shares an interface with the kernel: the interface's addresses, and the MAC address of a
/// peer. Each call opens its own sockets in the thread's network namespace and blocks for at most its time limit: for
/// connection setup, not for packets.

#include <cstdint>
#include <string>
#include <vector>

#include "datapath/link/interface_address.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::host {

struct InterfaceAddresses {
    unsigned ifindex = 0;
    wire::MacAddress mac{};
    std::uint32_t mtu = 0;
    /// In the order of the kernel's GID table for the device: IPv4, then IPv6, each as the kernel lists them. Without
    /// addresses whose duplicate address detection is pending or has failed (RFC 4862, 5.4).
    std::vector<link::InterfaceAddress> addresses;
    std::vector<link::InterfaceAddress> unsure{};  ///< addresses left out for this reason
};

/// ENODEV: no such interface.
Result<InterfaceAddresses> kernel_addresses(const std::string& interface);

/// Next-hop MAC address towards `to` on an interface, as the kernel routes packets from our address `from`: the peer's
/// or its gateway's; the interface's own if `to` is this host. If the neighbour is unknown, the kernel is made to
/// resolve it. ENETUNREACH: no route; EHOSTUNREACH: resolution failed; ETIMEDOUT: no answer yet.
Result<wire::MacAddress> resolve_kernel_neighbour(unsigned ifindex, const wire::Gid& from, const wire::Gid& to,
                                                  Time timeout);

}  // namespace verbline::host
