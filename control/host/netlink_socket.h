// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One rtnetlink socket, non-blocking, bound for its life to the network namespace in which it was opened.
/// It correlates nothing: sequence numbers are its users' affair. Errors are errno values.

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

/// Ownership of libnl's objects.
template <auto release>
struct Release {
    void operator()(auto* object) const { release(object); }
};
using Message = std::unique_ptr<nl_msg, Release<nlmsg_free>>;

/// The text and code of a failure that libnl reports.
Error netlink_error(int libnl_code, std::string what);

class NetlinkSocket {
public:
    /// `netns`: a name as `ip netns` knows it; empty: the caller's own namespace.
    static Result<NetlinkSocket> open(const std::string& netns);

    /// From now on messages of `group` (RTNLGRP_*) arrive.
    Result<void> subscribe(rtnetlink_groups group);
    int fd() const;
    /// Whether `message` answers the request of that sequence number. Notices of changes carry the number that whoever
    /// made the change gave its request, which may well be the same: only the port tells them apart.
    bool answers(const nlmsghdr& message, std::uint32_t sequence) const;

    /// Sends and returns the sequence number that the answers will carry.
    Result<std::uint32_t> send(nl_msg& request);
    /// As `send`, for a dump of all objects of one kind (RTM_GETLINK, ...).
    Result<std::uint32_t> send_dump(int type, int family);

    enum class Outcome : std::uint8_t {
        read,     ///< one datagram was there, and `each` saw its messages
        nothing,  ///< the socket is empty
        lost,     ///< the kernel had more to say than the socket could hold (ENOBUFS): messages are missing
    };
    /// Reads one datagram, if there is one. Messages that do not come from the kernel are skipped.
    Result<Outcome> receive(const std::function<void(nlmsghdr&)>& each);

private:
    using Socket = std::unique_ptr<nl_sock, Release<nl_socket_free>>;
    explicit NetlinkSocket(Socket socket) : socket_(std::move(socket)) {}

    Socket socket_;
};

}  // namespace verbline::host
