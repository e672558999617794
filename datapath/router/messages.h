// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What crosses between the control thread and a shard: commands down, events up, by value. An mbuf inside a message
/// passes with it.

#include <optional>
#include <type_traits>
#include <variant>

#include "datapath/forward/interface_id.h"
#include "datapath/ipoib/interface.h"
#include "datapath/link/destination.h"
#include "datapath/wire/types.h"

struct rte_mbuf;

namespace verbline::router {

using forward::InterfaceId;

// Commands.

/// An Ethernet port's own address; none: the port is down.
struct SetEthernet {
    InterfaceId port{};
    std::optional<wire::MacAddress> mac;
};

/// An IPoIB port as the subnet manager set it up; none: the port is down. Its groups are to be attached anew.
struct SetIpoib {
    InterfaceId port{};
    std::optional<ipoib::Identity> identity;
};

struct AttachGroup {
    InterfaceId port{};
    wire::Lid mlid{};
};

struct DetachGroup {
    InterfaceId port{};
    wire::Lid mlid{};
};

/// Where IP broadcasts and multicasts of a port go.
struct SetBroadcast {
    InterfaceId port{};
    link::Destination to;
};

/// The address that ICMP errors about packets from this port come from; 0.0.0.0: none, and no errors.
struct SetAddress {
    InterfaceId port{};
    wire::Ipv4Address address{};
};

struct SetNeighbour {
    InterfaceId port{};
    wire::Ipv4Address address{};
    link::Destination to;
};

/// The neighbour is to be asked for again when next needed.
struct ForgetNeighbour {
    InterfaceId port{};
    wire::Ipv4Address address{};
};

/// The neighbour does not answer: what waits for it is undeliverable.
struct FailNeighbour {
    InterfaceId port{};
    wire::Ipv4Address address{};
};

/// Send this packet, which begins at its network header.
struct Transmit {
    InterfaceId port{};
    rte_mbuf* packet = nullptr;
    link::Destination to;
};

/// A new command: a struct above, who executes it in shard.cc, who sends it in control/router; apps/EXTENDING.md.
using Command = std::variant<SetEthernet, SetIpoib, AttachGroup, DetachGroup, SetBroadcast, SetAddress, SetNeighbour,
                             ForgetNeighbour, FailNeighbour, Transmit>;

// Events.

/// A packet waits for this neighbour; said once until it is set, failed or has expired.
struct Unresolved {
    InterfaceId port{};
    wire::Ipv4Address address{};
};

/// A packet that is not IP: ARP.
struct Punted {
    InterfaceId port{};
    wire::EtherType type{};
    rte_mbuf* packet = nullptr;
};

using Event = std::variant<Unresolved, Punted>;

static_assert(std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<Event>);

}  // namespace verbline::router
