// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Watches one kernel interface: reports that its addresses of either family, its state or its MAC address have
/// changed, or that it was removed. Call kernel_addresses() for the current values.
///
/// Owned by one thread. Give `fd` to the control loop and call `receive` whenever it is readable.

#include <cstdint>

#include "control/host/netlink_socket.h"
#include "pmd/base/error.h"

namespace verbline::host {

class InterfaceWatch {
public:
    enum class News : std::uint8_t { nothing, changed, gone };

    /// Opens in the caller's network namespace. Earlier changes are not reported: query the state after this call.
    static Result<InterfaceWatch> open(unsigned ifindex);

    int fd() const { return socket_.fd(); }
    /// Summary of all events since the last call. `changed` also if messages were lost. An error means that the kernel
    /// can no longer be followed.
    Result<News> receive();

private:
    InterfaceWatch(NetlinkSocket socket, unsigned ifindex) : socket_(std::move(socket)), ifindex_(ifindex) {}

    NetlinkSocket socket_;
    unsigned ifindex_;
};

}  // namespace verbline::host
