// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages between the control thread and a shard, passed by value: commands to the shard, events from it. Ownership
/// of an mbuf passes with its message.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include "datapath/forward/interface_id.h"
#include "datapath/forward/reverse_path.h"
#include "datapath/ipoib/interface.h"
#include "datapath/link/destination.h"
#include "datapath/wire/types.h"
#include "pmd/netdev.h"

struct rte_mbuf;

namespace verbline::router {

using forward::InterfaceId;

// Commands.

/// Sets an Ethernet port's own address; none: the port is down.
struct SetEthernet {
    InterfaceId port{};
    std::optional<wire::MacAddress> mac;
};

/// Sets an IPoIB port's identity as configured by the subnet manager; none: the port is down. Detaches its groups,
/// which must be attached again.
struct SetIpoib {
    InterfaceId port{};
    std::optional<ipoib::Identity> identity;
};

struct AttachGroup {
    InterfaceId port{};
    pmd::MulticastAddress group;
};

struct DetachGroup {
    InterfaceId port{};
    pmd::MulticastAddress group;
};

/// Sets the state of a port's link. While it is down, the shard may wait even if the device cannot signal packets.
struct SetCarrier {
    InterfaceId port{};
    bool carrier = false;
};

/// Sets the destination of a port's IP broadcasts, and of packets that its kernel sends to groups.
struct SetBroadcast {
    InterfaceId port{};
    link::Destination to;                     ///< of groups of IPv4 as well; on Ethernet with the group's MAC address
    std::optional<link::Destination> ipv6{};  ///< of groups of IPv6; on Ethernet with any group's MAC address
    bool resolves_groups = false;             ///< instead, a group is resolved as a neighbour is, by its address
};

/// Sets where packets to a routed multicast group go, by ports' bits (multicast_table.h): to links, on which the group
/// is resolved as a neighbour, and to kernels. Neither: the group is not routed.
struct SetGroupRoute {
    wire::Gid group{};
    std::uint64_t links = 0, kernels = 0;
};

/// Sets the source addresses of ICMP errors about packets from this port; zero: none, and no errors are sent.
struct SetAddress {
    InterfaceId port{};
    wire::Ipv4Address address{};
    wire::Ipv6Address ipv6{};        ///< not link-local
    wire::Ipv6Address link_local{};  ///< of errors to link-local addresses
    bool operator==(const SetAddress&) const = default;
};

/// Sets what is done to packets that a port receives, and to TCP that is routed through it (PortSetup).
struct SetChecks {
    InterfaceId port{};
    bool clamp_mss = false;
    forward::ReversePathFilter reverse_path = forward::ReversePathFilter::off;
};

/// Sets whether router solicitations on a port are the control thread's, which advertises; else they are the kernel's.
struct SetAdvertises {
    InterfaceId port{};
    bool advertises = false;
};

/// Sets whether groups that a port receives are routed; else all of them are its kernel's (PortSetup).
struct SetMulticast {
    InterfaceId port{};
    bool routed = false;
};

/// Replaces a port's device by the same one with other decorators around it. Who has carried it out uses the one before
/// no more, and takes itself off `left`.
struct SetDevice {
    InterfaceId port{};
    pmd::NetDevice* device = nullptr;
    std::atomic<std::size_t>* left = nullptr;  ///< shards that have not
};

// Neighbours' addresses are GIDs: IPv6, or IPv4 mapped (datapath/link/ip_gid.h).

struct SetNeighbour {
    InterfaceId port{};
    wire::Gid address{};
    link::Destination to;
};

/// Removes a neighbour, which is resolved again when next needed.
struct ForgetNeighbour {
    InterfaceId port{};
    wire::Gid address{};
};

/// Resolution failed: packets queued for the neighbour are undeliverable.
struct FailNeighbour {
    InterfaceId port{};
    wire::Gid address{};
};

/// A connection of an IPoIB port, whose queue pair is in the error state, is used no more; no neighbour has it.
struct CloseConnection {
    InterfaceId port{};
    ipoib::ConnectionNumber number{};
};

/// Sends a packet, which begins at its network header.
struct Transmit {
    InterfaceId port{};
    rte_mbuf* packet = nullptr;
    link::Destination to;
};

/// Hands a packet, which begins at its IP header, to the kernel as if the port had received it.
struct Deliver {
    InterfaceId port{};
    rte_mbuf* packet = nullptr;
};

/// To add a command: a struct above, its execution in shard.cc, its sender in control/router; see apps/EXTENDING.md.
using Command = std::variant<SetEthernet, SetIpoib, AttachGroup, DetachGroup, SetCarrier, SetBroadcast, SetAddress,
                             SetChecks, SetAdvertises, SetMulticast, SetDevice, SetNeighbour, ForgetNeighbour,
                             FailNeighbour, CloseConnection, Transmit, SetGroupRoute, Deliver>;

// Events.

/// A packet is queued for this neighbour. Emitted once until the neighbour is set, fails or expires.
struct Unresolved {
    InterfaceId port{};
    wire::Gid address{};  ///< as above
};

/// A packet that resolves addresses: ARP, or neighbour discovery from its IPv6 header on.
struct Punted {
    InterfaceId port{};
    wire::EtherType type{};
    rte_mbuf* packet = nullptr;
};

/// A copy of an IGMP or MLD packet, from its IP header on: of a host on the link, or of our kernel.
struct MembershipHeard {
    InterfaceId port{};
    bool from_kernel = false;
    rte_mbuf* packet = nullptr;
};

/// Packets came to a multicast group that has no route. Emitted at most 20 times a second.
struct UnknownGroup {
    InterfaceId port{};
    wire::Gid group{};
};

using Event = std::variant<Unresolved, Punted, MembershipHeard, UnknownGroup>;

/// The packet that an event owns; null if it has none.
inline rte_mbuf* packet_of(const Event& event) {
    if (const auto* punted = std::get_if<Punted>(&event)) return punted->packet;
    if (const auto* heard = std::get_if<MembershipHeard>(&event)) return heard->packet;
    return nullptr;
}

static_assert(std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<Event>);

}  // namespace verbline::router
