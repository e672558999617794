// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A DHCP relay agent for IPv6: RFC 8415, section 19.
///
///     client ── to ff02::1:2 ──────> RELAY-FORW { link, peer, Interface-Id, message } ──> each server, from `link`
///     client <── to peer ── message, taken out of RELAY-REPL { peer, Interface-Id }  <── server, to `link`
///
/// No state is kept: the Interface-Id option, which is the port's name and which servers return, says which port a
/// reply is for; without it, the link address does.
/// For servers that know clients by it, Remote-Id (RFC 4649) says the same, if there is an enterprise number for it.
///
/// Pure: no I/O, no clock. Owned by the control thread.

#include <deque>
#include <optional>
#include <vector>

#include "control/dhcp_relay/datagram.h"
#include "datapath/wire/dhcpv6.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::dhcp {

#define VERBLINE_DHCPV6_RELAY_COUNTERS(X)                                                                            \
    X(dhcpv6_relay_requests, "DHCPv6 messages of clients relayed to the servers")                                    \
    X(dhcpv6_relay_replies, "DHCPv6 messages of servers relayed to clients")                                         \
    X(dhcpv6_relay_dropped_malformed,                                                                                \
      "DHCPv6 messages that end too early, or without a message in them or a host to send it to")                    \
    X(dhcpv6_relay_dropped_type, "DHCPv6 messages of a kind that servers send, from a link")                         \
    X(dhcpv6_relay_dropped_hops, "DHCPv6 requests that have passed too many relays")                                 \
    X(dhcpv6_relay_dropped_too_long, "DHCPv6 requests that leave no room for a relay's header")                      \
    X(dhcpv6_relay_dropped_off_link, "DHCPv6 requests of clients that came by the routes, not from the port's link") \
    X(dhcpv6_relay_dropped_no_address, "DHCPv6 requests while the port has no global IPv6 address: give it one")     \
    X(dhcpv6_relay_dropped_unknown_link, "DHCPv6 replies for a link that no relaying port has")                      \
    X(dhcpv6_relay_dropped_unknown_server,                                                                           \
      "DHCPv6 replies of others than the port's servers: is it another address of one? Add it to dhcpv6_relay")      \
    X(dhcpv6_relay_dropped_no_server,                                                                                \
      "DHCPv6 requests, for each server, that the kernel could not send: is it routed?")                             \
    X(dhcpv6_relay_dropped_not_sent, "DHCPv6 replies that the kernel could not send")

struct Ipv6RelayCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_DHCPV6_RELAY_COUNTERS)
};

class Ipv6Relay {
public:
    using Address = wire::Ipv6Address;
    using Sends = std::vector<Send<Address>>;

    static constexpr std::uint8_t hop_limit = 8;  ///< HOP_COUNT_LIMIT (RFC 8415, 7.6)

    explicit Ipv6Relay(const std::vector<RelayPort<Address>>& ports);

    /// Those of a port that are valid beyond its link; the first is its link address.
    void set_addresses(std::size_t port, std::vector<Address> addresses);

    /// Instead of those before; none: the port's clients are not served. Replies of others are taken no more.
    void set_servers(std::size_t port, std::vector<Address> servers);
    bool serves(std::size_t port) const { return ports_[port].serves(); }

    Sends received(const Received<Address>& datagram);
    /// What `received` returned could not be sent.
    void not_sent(const Send<Address>& datagram);

    void counters(std::size_t port, const CounterVisitor& visit) const { ports_[port].counters.each(visit); }

private:
    using Port = EnginePort<Address, Ipv6RelayCounters>;

    Sends request(const Received<Address>& datagram, std::uint8_t type);
    Sends reply(const Received<Address>& datagram);
    std::optional<std::size_t> port_of(const wire::Dhcpv6Relay& header, const wire::Dhcpv6Options& options) const;

    std::deque<Port> ports_;  // counters do not move
};

}  // namespace verbline::dhcp
