// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a device beside the kernel asks it about an interface they share: which addresses it has, and which MAC address
/// leads to a peer. Each call has sockets of its own, in the thread's network namespace, and blocks for at most its
/// time limit: for when connections are made, not for packets.

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
    /// In the order in which the kernel gives them to RDMA devices: IPv4, then IPv6, each as it lists them. Without
    /// those that it has not yet, or in vain, made sure of (RFC 4862, 5.4).
    std::vector<link::InterfaceAddress> addresses;
    std::vector<link::InterfaceAddress> unsure{};  ///< those without which it is
};

/// ENODEV if there is no such interface.
Result<InterfaceAddresses> kernel_addresses(const std::string& interface);

/// The MAC address behind which `to` is found on an interface, as the kernel routes packets from our address `from`:
/// the peer's or its gateway's; the interface's own if `to` is this host. What the kernel does not know it is made to
/// ask. Errors: ENETUNREACH no route; EHOSTUNREACH nobody answers; ETIMEDOUT nobody has answered yet.
Result<wire::MacAddress> resolve_kernel_neighbour(unsigned ifindex, const wire::Gid& from, const wire::Gid& to,
                                                  Time timeout);

}  // namespace verbline::host
