// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Keeps the kernel from answering RoCE v2 packets on a shared interface: without a socket on their UDP port it would
/// send ICMP "port unreachable" for each, which peers take for a dead connection.

#include <array>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {

class UdpGuard {
public:
    /// Opens in the thread's network namespace. Any number of processes of one user may hold one. EADDRINUSE: the
    /// kernel's rdma_rxe or another user's program has the port.
    static Result<UdpGuard> open();

private:
    std::array<FileDescriptor, 2> sockets_;  ///< IPv4, IPv6; never read
};

}  // namespace verbline::host
