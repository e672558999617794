// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Runs a relay agent on the control loop: opens its sockets, passes what they receive to the engine, sends what it
/// returns.
///
/// Plain sockets of the kernel on the ports' interfaces: the kernel has the gateway's addresses and routes, and what it
/// sends there goes out by the gateway. So a server may be behind any route, those of routing daemons included, and
/// neither Ethernet nor IPoIB is known here.
///
/// Owned by the control thread; must not outlive its loop.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/dhcp_relay/datagram.h"
#include "control/dhcp_relay/ipv4_relay.h"
#include "control/dhcp_relay/ipv6_relay.h"
#include "control/dhcp_relay/relay_socket.h"
#include "control/loop/loop.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"

namespace verbline::dhcp {

/// `Relay`: Ipv4Relay or Ipv6Relay.
template <class Relay>
class RelayService {
public:
    using Address = typename Relay::Address;
    struct Setup {
        std::string netns;  ///< of the interfaces, as in `ip netns`; empty: the caller's own
        /// By number; the name of each is that of an interface that is there, and up, before it has servers.
        std::vector<RelayPort<Address>> ports;
        /// Called with one line if a port can no longer be served.
        std::function<void(const std::string& line)> on_trouble;
    };

    /// Clients are served once their port has an address. Errors: one line about an interface.
    static Result<std::unique_ptr<RelayService>> open(control::Loop& loop, Setup setup);
    RelayService(const RelayService&) = delete;
    RelayService& operator=(const RelayService&) = delete;

    /// One socket, and the loop's interest in it.
    struct End {
        RelaySocket<Address> socket;
        control::Watch watch;
    };
    /// Other servers of a port, with all that they take.
    struct Prepared {
        std::size_t port = 0;
        std::vector<Address> servers;
        End link;  ///< without a socket, if the port has one or needs none
    };
    /// Changes nothing yet. Errors: one line about the interface.
    Result<Prepared> prepare(std::size_t port, std::vector<Address> servers);
    /// From now on the port's clients are served by these. Must be called before the loop goes on; a port that had no
    /// servers is then to be told its addresses.
    void use(Prepared prepared);

    /// The addresses of a port; the first is what servers answer to. Ports without servers have none to tell.
    void set_addresses(std::size_t port, const std::vector<Address>& addresses);

    bool serves(std::size_t port) const { return relay_.serves(port); }
    void counters(std::size_t port, const CounterVisitor& visit) const { relay_.counters(port, visit); }

private:
    struct Port {
        End link, network;
        Address address{};  ///< that `network` is bound to
    };

    RelayService(control::Loop& loop, Setup setup);

    Result<End> open_link(std::size_t port);
    Result<End> open_network(std::size_t port, const Address& address);
    Result<End> watch(std::size_t port, Side side, RelaySocket<Address> socket);
    static void replace(End& end, End by);
    End& end(std::size_t port, Side side) { return side == Side::link ? ports_[port].link : ports_[port].network; }
    void receive(std::size_t port, Side side);
    void send(const dhcp::Send<Address>& datagram);

    control::Loop& loop_;
    Setup setup_;
    Relay relay_;
    std::vector<std::byte> room_;  ///< for one message
    std::vector<Port> ports_;
};

using Ipv4RelayService = RelayService<Ipv4Relay>;
using Ipv6RelayService = RelayService<Ipv6Relay>;

}  // namespace verbline::dhcp
