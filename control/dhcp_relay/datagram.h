// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The datagrams that a relay agent receives and sends. `Address` is wire::Ipv4Address or wire::Ipv6Address.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "datapath/wire/bytes.h"
#include "pmd/base/counter.h"

namespace verbline::dhcp {

/// By which of a port's two sockets.
enum class Side : std::uint8_t {
    link,     ///< that of its interface: the clients of its segment
    network,  ///< that of its address, by the routes: servers, and relays behind other routers
};

/// A port whose clients' messages are relayed.
template <class Address>
struct RelayPort {
    std::string name;  ///< identifies the port to servers, at most 255 bytes
    /// Each gets every message, and replies are taken from these alone; none: the port's clients are not served.
    std::vector<Address> servers;
    std::uint32_t enterprise = 0;  ///< IPv6 alone: of Remote-Id, which has the name as well; 0: none is sent
};

/// What an engine knows of a port.
template <class Address, class Counters>
struct EnginePort {
    explicit EnginePort(RelayPort<Address> port) : config(std::move(port)) {}

    bool serves() const { return !config.servers.empty(); }
    bool relays_to(const Address& server) const {
        return std::ranges::find(config.servers, server) != config.servers.end();
    }
    bool has(const Address& address) const { return std::ranges::find(addresses, address) != addresses.end(); }

    RelayPort<Address> config;
    std::vector<Address> addresses;
    Counters counters;
};

template <class Address>
struct Received {
    std::size_t port = 0;  ///< index of the RelayPort
    Side side = Side::link;
    Address source{};
    wire::Bytes message;  ///< UDP payload
};

template <class Address>
struct Send {
    std::size_t port = 0;
    Side side = Side::link;
    Address destination{};
    std::uint16_t destination_port = 0;
    std::vector<std::byte> message;
    bool to_server = false;  ///< else a client, or a relay nearer to it
};

/// Nothing is sent, for that reason.
template <class Address>
std::vector<Send<Address>> dropped(Counter& reason) {
    reason.add();
    return {};
}

}  // namespace verbline::dhcp
