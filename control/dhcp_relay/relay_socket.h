// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The UDP sockets of a relay agent, bound to the port of DHCP servers (67, of IPv6 547): one on an interface, for the
/// clients of its link, and one at an address, for servers. The kernel prefers the latter for what comes to that
/// address.
///
/// Both are of the caller's network namespace when they are opened. They share their UDP port only with sockets that
/// allow it (SO_REUSEADDR). Owned by one thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::dhcp {

/// `Address`: wire::Ipv4Address or wire::Ipv6Address.
template <class Address>
class RelaySocket {
public:
    RelaySocket() = default;

    /// Receives what comes by that interface, and sends by it; in IPv6, it is in the group of relays and servers there.
    static Result<RelaySocket> on_interface(const std::string& name);
    /// Receives what comes to that address, and sends from it by the routes. The address may come later.
    static Result<RelaySocket> at_address(const Address& address);

    int fd() const { return fd_.get(); }
    explicit operator bool() const { return static_cast<bool>(fd_); }

    struct Datagram {
        Address source{};
        wire::Bytes message;  ///< in the caller's room; empty if that is too small
    };
    /// None: nothing is waiting.
    std::optional<Datagram> receive(std::span<std::byte> room);
    /// False: the kernel has not taken it, as it has no route or no memory.
    bool send(const Address& destination, std::uint16_t port, wire::Bytes message);

private:
    RelaySocket(FileDescriptor fd, unsigned ifindex) : fd_(std::move(fd)), ifindex_(ifindex) {}

    FileDescriptor fd_;
    unsigned ifindex_ = 0;  ///< of link-local destinations
};

}  // namespace verbline::dhcp
