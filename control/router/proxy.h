// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Proxy ARP and proxy ND (RFC 1027; RFC 4861, 7.2.8; after RFC 4389, but for a router): the links of several ports are
/// one IP subnet, and each port answers for the hosts behind the others. Packets between them are routed, by a route to
/// each host.
///
///     request for X on port A ──> Proxy ──┬── X is known behind B ─────────────────> Answer on A
///                                         ├── X is known on A, whose own answer it is
///                                         └── X is unknown ──> Resolve on all ports of the subnet, A as well
///     X has answered on B ──────> Proxy ──> AddRoute to X by B; Answer pending requests of other ports
///     X is gone from B ─────────> Proxy ──> RemoveRoute
///
/// A host is on the link on which it has answered a request of the gateway; messages of other hosts, or unsolicited
/// ones of its own, do not move it. A host that answers on two links stays on the first while it answers there: thus a
/// second proxy between the same links does not attract all hosts. When a host is seen on another link, it is verified
/// on its own link, and requested on all others.
///
/// Pure: no I/O, no clock. Bounded: a full table evicts the host that was learnt or verified longest ago; requests for
/// unknown addresses cannot fill it, and are dropped if there are too many at once.

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "datapath/forward/interface_id.h"
#include "datapath/link/interface_address.h"
#include "datapath/neighbour/message.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::router {

#define VERBLINE_PROXY_COUNTERS(X)                                                                       \
    X(proxy_requests, "requests for addresses of a subnet that is on several links")                     \
    X(proxy_answers, "requests answered for a host behind another port")                                 \
    X(proxy_same_link, "requests not answered: the host is on the link of who asks")                     \
    X(proxy_unanswered, "requests not answered: nobody on any link has the address")                     \
    X(proxy_dropped_waiting, "requests not answered: as many waited as may for one address, or for all") \
    X(proxy_hosts_learned, "hosts found on a link")                                                      \
    X(proxy_hosts_moved, "hosts found on another link than before")                                      \
    X(proxy_hosts_lost, "hosts that no longer answer on any link")                                       \
    X(proxy_hosts_evicted, "hosts given up because the table was full")                                  \
    X(proxy_conflicts, "answers on a second link for a host that was known: a move, or another proxy")

struct ProxyCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PROXY_COUNTERS)
};

class Proxy {
public:
    using Port = forward::InterfaceId;

    static constexpr std::size_t max_ports = 64;
    static constexpr std::size_t max_waiting = 4;  ///< requests for one address
    static constexpr Time verify_interval = second;

    struct Resolve {  ///< find out whether the host is on the port's link
        Port port{};
        wire::Gid address{};
        bool operator==(const Resolve&) const = default;
    };
    struct Verify {  ///< the same of a host that was there; `resolved` or `lost` must follow
        Port port{};
        wire::Gid address{};
        bool operator==(const Verify&) const = default;
    };
    struct Answer {
        Port port{};
        neighbour::Message request{};
        bool operator==(const Answer&) const = default;
    };
    struct AddRoute {
        Port port{};
        wire::Gid address{};
        bool operator==(const AddRoute&) const = default;
    };
    struct RemoveRoute {
        Port port{};
        wire::Gid address{};
        bool operator==(const RemoveRoute&) const = default;
    };
    using Action = std::variant<Resolve, Verify, Answer, AddRoute, RemoveRoute>;
    using Actions = std::vector<Action>;

    explicit Proxy(std::size_t capacity = 1024) : capacity_(capacity) {}

    /// The gateway's own addresses on a port, by which it belongs to subnets; from the first call on, it takes part.
    Actions set_addresses(Port port, const std::vector<link::InterfaceAddress>& addresses);

    /// The port takes part no more: nothing is known of its link, and nothing is answered there.
    Actions remove_port(Port port);

    /// A request came on a port, for an address that is not the port's own.
    Actions requested(Port port, const neighbour::Message& request, Time now);
    /// A packet is to be sent to this address on the port's link.
    Actions wanted(Port port, const wire::Gid& address, Time now);
    /// A message came on a port from this host.
    Actions heard(Port port, const wire::Gid& host, Time now);
    /// The host has answered on the port's link, or its link-layer address has changed there.
    Actions resolved(Port port, const wire::Gid& host, Time now);
    /// It has not, or does so no longer.
    Actions lost(Port port, const wire::Gid& host, Time now);

    /// The port on whose link a host is.
    std::optional<Port> find(const wire::Gid& host) const;
    std::size_t size() const { return hosts_.size(); }
    const ProxyCounters& counters() const { return counters_; }

private:
    struct Waiting {
        Port port{};
        neighbour::Message request;
    };
    using Order = std::list<wire::Gid>;
    struct Host {
        std::optional<Port> at;
        std::uint64_t asked = 0, answers = 0;  ///< ports, by bit: being asked; where it is known to be
        std::vector<Waiting> waiting;
        std::optional<Time> verified;  ///< when that was last begun
        Order::iterator place{};       ///< once it is on a link
    };
    using Known = std::map<wire::Gid, Host>::iterator;

    static constexpr std::uint64_t bit(Port port) { return std::uint64_t{1} << static_cast<unsigned>(port); }
    bool contains(Port port, const wire::Gid& address) const;
    /// Whether the address is of a subnet on this port and another one.
    bool shared(Port port, const wire::Gid& address) const;
    bool is_own(const wire::Gid& address) const;

    Known find_or_insert(const wire::Gid& address);
    void wait(Host& host, Port port, const neighbour::Message& request);
    void resolve_everywhere(Known known, Actions& out);
    void verify(Known known, Time now, Actions& out);
    void settle(Known known, Port port, Actions& out);
    void answer(Port port, const neighbour::Message& request, Actions& out);
    void remove(Known known, Actions& out);

    std::size_t capacity_;  ///< hosts on a link; requested addresses: a fourth of it
    std::map<Port, std::vector<link::InterfaceAddress>> ports_;
    std::map<wire::Gid, Host> hosts_;
    Order order_;  ///< of those on a link, by when they were learnt or verified
    ProxyCounters counters_;
};

}  // namespace verbline::router
