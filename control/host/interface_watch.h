// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Tells that something about one interface of the kernel's has changed: its addresses of either family, its state, its
/// MAC address; or that it is gone. What it is like now is for the user to ask (kernel_addresses).
///
/// Owned by one thread. Give `fd` to the control loop and call `receive` whenever it is readable.

#include <cstdint>

#include "control/host/netlink_socket.h"
#include "pmd/base/error.h"

namespace verbline::host {

class InterfaceWatch {
public:
    enum class News : std::uint8_t { nothing, changed, gone };

    /// In the caller's network namespace. What changed before is not told: ask after this.
    static Result<InterfaceWatch> open(unsigned ifindex);

    int fd() const { return socket_.fd(); }
    /// What has happened since, all at once. Where messages were lost, `changed`: anything may have. An error means
    /// that the kernel can no longer be followed.
    Result<News> receive();

private:
    InterfaceWatch(NetlinkSocket socket, unsigned ifindex) : socket_(std::move(socket)), ifindex_(ifindex) {}

    NetlinkSocket socket_;
    unsigned ifindex_;
};

}  // namespace verbline::host
