// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Rewrites packets that name link-layer addresses from Ethernet to IPoIB and back.
///
///     ARP    hardware type 1, 6 bytes (RFC 826)      <──> hardware type 32, 20 bytes (RFC 4391, 9.1.2)
///     ND     options of 8 bytes (RFC 4861, 4.6.1)    <──> options of 24 bytes (RFC 4391, 9.3), checksum
///
/// The port's own MAC address stands for its own IPoIB address, and a host's MAC address (proxy_addresses.h) for the
/// host's. Everything else stays as it is; so do messages of Neighbour Discovery that name no address.
///
/// Functions of their arguments; packets are hostile.

#include <cstddef>
#include <expected>
#include <optional>
#include <vector>

#include "apps/net_ipoib/proxy_addresses.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::net_ipoib {

/// Addresses of the port: on its Ethernet face, and on the link.
struct OwnAddresses {
    wire::MacAddress mac;
    wire::IpoibAddress link;
};

#define VERBLINE_UNTRANSLATED(X)                                                                                  \
    X(tx_dropped_arp_malformed, "ARP that the program sent and that is none of Ethernet and IPv4")                \
    X(tx_dropped_nd_malformed, "neighbour discovery that the program sent and that is not valid")                 \
    X(tx_dropped_other_mac, "ARP and ND by which the program gave itself another MAC address than the port's")    \
    X(tx_dropped_named_unknown, "ARP and ND that name a MAC address that stands for no host")                     \
    X(rx_dropped_arp_malformed, "ARP of the link that is none of IPoIB and IPv4, or names an impossible address") \
    X(rx_dropped_nd_malformed, "neighbour discovery of the link that is not valid")                               \
    X(rx_dropped_own_address, "ARP and ND of the link by which another took our own link-layer address")

VERBLINE_COUNTER_ENUM(Untranslated, VERBLINE_UNTRANSLATED)

/// Whether an IPv6 packet, from its header on, is a message of Neighbour Discovery: 133 to 137 (RFC 4861, 4).
bool is_discovery(wire::Bytes packet) noexcept;

using Packet = std::vector<std::byte>;

/// From the program: `packet` begins at its ARP, or IPv6, header, and may have padding behind it.
std::expected<Packet, Untranslated> arp_to_link(wire::Bytes packet, const OwnAddresses& own,
                                                const ProxyAddresses& hosts);
std::expected<Packet, Untranslated> discovery_to_link(wire::Bytes packet, const OwnAddresses& own,
                                                      const ProxyAddresses& hosts);

/// What the program gets.
struct FromLink {
    Packet packet;
    std::optional<wire::IpoibAddress> named;  ///< a host that the packet names: the program may answer it
    std::vector<wire::MacAddress> forgotten;  ///< hosts that were forgotten to make room for it
};
/// From the link, likewise. Hosts that are named get a MAC address.
std::expected<FromLink, Untranslated> arp_from_link(wire::Bytes packet, const OwnAddresses& own, ProxyAddresses& hosts);
std::expected<FromLink, Untranslated> discovery_from_link(wire::Bytes packet, const OwnAddresses& own,
                                                          ProxyAddresses& hosts);

}  // namespace verbline::net_ipoib
