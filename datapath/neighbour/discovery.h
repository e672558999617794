// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Neighbour solicitations and advertisements as whole IPv6 packets, from the IPv6 header on: on Ethernet with MAC
/// addresses in their option (RFC 4861, 4.6.1), on IPoIB with queue pair and GID (RFC 4391, 9.3).
///
/// Functions of their arguments; Address is MacAddress or IpoibAddress.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/link/interface_address.h"
#include "datapath/neighbour/message.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

/// The solicited-node multicast address of an IPv6 address (RFC 4291, 2.7.1).
wire::Gid solicited_node(const wire::Gid& gid);
constexpr wire::Gid all_nodes = wire::Gid::of(0xff02'0000'0000'0000, wire::Guid{1});
/// The groups to listen to with these addresses: all nodes, and the solicited-node groups of the IPv6 ones.
std::vector<wire::Gid> groups_of(const std::vector<link::InterfaceAddress>& addresses);

/// Parses an NS or NA and validates it (RFC 4861, 7.1.1 and 7.1.2); other IPv6 packets are `other`.
template <class Address>
Read read_discovery(wire::Bytes packet);

/// Largest size of such a message, in bytes.
template <class Address>
constexpr std::size_t discovery_size =
    wire::Ipv6::size + wire::NeighbourMessage::size + wire::NdLinkAddress<Address>::size;
constexpr std::size_t max_discovery_size = discovery_size<wire::IpoibAddress>;

// What all messages of Neighbour Discovery have in common; `packet` begins at the IPv6 header.

/// Whether the packet has the hop limit and the checksum of its kind (RFC 4861, 6.1 and 7.1).
bool genuine_discovery(const wire::Ipv6& ip, wire::Bytes icmp);
/// Finds the link-layer address in the option `type`. False if these are not options, or the address is impossible.
template <class Address>
bool find_link_address(wire::Bytes options, std::uint8_t type, std::optional<Address>& found);
/// Writes the IPv6 header in front of a message, and the checksum into it.
void finish_discovery(wire::MutableBytes packet, const wire::Ipv6Address& source, const wire::Ipv6Address& destination);

/// The group to which a message goes that is not for one neighbour.
wire::Gid multicast_group_of(const Message& message);

/// Writes a message of IPv6 addresses, for one neighbour or for its group. The option with the link-layer address
/// `message.at` is omitted if the source is unspecified (RFC 4861, 4.3), where the nonce has its place. Returns the
/// length in bytes; `out` must hold `discovery_size` of its kind of address.
std::size_t write_discovery(wire::MutableBytes out, const Message& message, bool unicast);

}  // namespace verbline::neighbour
