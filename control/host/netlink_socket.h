// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A non-blocking rtnetlink socket, bound to the network namespace in which it was opened. Matching sequence numbers is
/// left to its users. Errors are errno values.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/socket.h>

#include "pmd/base/error.h"

namespace verbline::host {

/// Deleter for libnl's objects.
template <auto release>
struct Release {
    void operator()(auto* object) const { release(object); }
};
using NetlinkMessage = std::unique_ptr<nl_msg, Release<nlmsg_free>>;

/// Error for a libnl error code.
Error netlink_error(int libnl_code, std::string what);

class NetlinkSocket {
public:
    /// `netns`: a name as in `ip netns`; empty: the caller's own namespace.
    static Result<NetlinkSocket> open(const std::string& netns);

    /// Subscribes to messages of `group` (RTNLGRP_*).
    Result<void> subscribe(rtnetlink_groups group);
    int fd() const;
    /// Whether `message` answers the request with that sequence number. Notifications carry the sequence number and
    /// port of the request that made the change, so the port is compared as well.
    bool answers(const nlmsghdr& message, std::uint32_t sequence) const;

    /// Sends and returns the sequence number that the answers will carry.
    Result<std::uint32_t> send(nl_msg& request);
    /// As `send`, for a dump of all objects of one kind (RTM_GETLINK, ...).
    Result<std::uint32_t> send_dump(int type, int family);

    enum class Outcome : std::uint8_t {
        read,     ///< one datagram was read and its messages passed to `each`
        nothing,  ///< the socket is empty
        lost,     ///< the receive buffer overflowed (ENOBUFS): messages are missing
    };
    /// Reads one datagram, if available. Messages that do not come from the kernel are skipped.
    Result<Outcome> receive(const std::function<void(nlmsghdr&)>& each);

private:
    using Socket = std::unique_ptr<nl_sock, Release<nl_socket_free>>;
    explicit NetlinkSocket(Socket socket) : socket_(std::move(socket)) {}

    Socket socket_;
};

}  // namespace verbline::host
