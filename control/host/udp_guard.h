// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Keeps the kernel quiet about RoCE v2 packets on an interface we share with it: without a socket on their port it
/// would answer each with ICMP "port unreachable", and peers take that for a dead connection.

#include <array>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {

class UdpGuard {
public:
    /// In the thread's network namespace. Any number of processes of one user may have one. EADDRINUSE: the port is
    /// someone else's.
    static Result<UdpGuard> open();

private:
    std::array<FileDescriptor, 2> sockets_;  ///< IPv4, IPv6; nothing is ever read from them
};

}  // namespace verbline::host
