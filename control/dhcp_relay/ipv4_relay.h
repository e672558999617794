// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A DHCP relay agent for IPv4: RFC 2131, RFC 1542 (section 4), RFC 3046 (option 82), RFC 4390 (clients on IPoIB).
///
///     client ── broadcast ──> request ──> giaddr, hops, option 82 ──> each server, from giaddr
///     client <── broadcast ── reply   <── option 82 removed       <── server, to giaddr
///
/// No state is kept between request and reply: giaddr and option 82 say which port a reply is for, and the client
/// recognizes its own by xid. So a relay that was restarted relays the reply to what was asked before.
///
/// Replies are broadcast on the link, which RFC 1542, 4.1.2, allows where unicast is not possible: a client without an
/// address answers no ARP, and one on IPoIB has no chaddr.
///
/// Pure: no I/O, no clock. Owned by the control thread.

#include <deque>
#include <vector>

#include "control/dhcp_relay/datagram.h"
#include "datapath/wire/dhcp.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::dhcp {

#define VERBLINE_DHCP_RELAY_COUNTERS(X)                                                                              \
    X(dhcp_relay_requests, "DHCP messages of clients relayed to the servers")                                        \
    X(dhcp_relay_replies, "DHCP messages of servers relayed to clients")                                             \
    X(dhcp_relay_requests_without_option82, "of the requests, those that had no room for option 82")                 \
    X(dhcp_relay_dropped_malformed, "DHCP messages without header or cookie, or with options that end behind them")  \
    X(dhcp_relay_dropped_hops, "DHCP requests that have passed too many relays")                                     \
    X(dhcp_relay_dropped_option82,                                                                                   \
      "DHCP requests that came from a client with option 82 (RFC 3046, 2.1), replies with that of another port")     \
    X(dhcp_relay_dropped_own_giaddr, "DHCP requests that claim to have been relayed by this gateway")                \
    X(dhcp_relay_dropped_off_link, "DHCP requests of clients that came by the routes, not from the port's link")     \
    X(dhcp_relay_dropped_stray_reply, "DHCP replies that came from a link, and not to the address of a request")     \
    X(dhcp_relay_dropped_no_address, "DHCP requests while the port has no IPv4 address: give it one")                \
    X(dhcp_relay_dropped_unknown_giaddr, "DHCP replies to an address that no relaying port has")                     \
    X(dhcp_relay_dropped_unknown_server,                                                                             \
      "DHCP replies of others than the port's servers: is it another address of one? Add it to dhcp_relay")          \
    X(dhcp_relay_dropped_no_server, "DHCP requests, for each server, that the kernel could not send: is it routed?") \
    X(dhcp_relay_dropped_not_sent, "DHCP replies that the kernel could not send on the port's link")

struct Ipv4RelayCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_DHCP_RELAY_COUNTERS)
};

class Ipv4Relay {
public:
    using Address = wire::Ipv4Address;
    using Sends = std::vector<Send<Address>>;

    static constexpr std::uint8_t hop_limit = 16;             ///< RFC 1542, 4.1.1
    static constexpr std::size_t largest_with_option = 1472;  ///< UDP payload that Ethernet carries whole

    explicit Ipv4Relay(const std::vector<RelayPort<Address>>& ports);

    /// Those of a port, all usable ones; the first is its giaddr.
    void set_addresses(std::size_t port, std::vector<Address> addresses);

    /// Instead of those before; none: the port's clients are not served. Replies of others are taken no more.
    void set_servers(std::size_t port, std::vector<Address> servers);
    bool serves(std::size_t port) const { return ports_[port].serves(); }

    Sends received(const Received<Address>& datagram);
    /// What `received` returned could not be sent.
    void not_sent(const Send<Address>& datagram);

    void counters(std::size_t port, const CounterVisitor& visit) const { ports_[port].counters.each(visit); }

private:
    using Port = EnginePort<Address, Ipv4RelayCounters>;

    Sends request(const Received<Address>& datagram, const wire::Dhcp& header, const wire::DhcpOptions& options);
    Sends reply(const Received<Address>& datagram, const wire::Dhcp& header, const wire::DhcpOptions& options);
    bool is_own(Address address) const;

    std::deque<Port> ports_;  // counters do not move
};

}  // namespace verbline::dhcp
