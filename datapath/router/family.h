// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a router does differently for IPv4 and for IPv6: the parameter of FamilyRouter (family_router.h). Packets have
/// been checked. `at`: where the IP header begins, if a link's header is in front.

#include <algorithm>
#include <cstdint>

#include <rte_mbuf.h>

#include "datapath/forward/icmp_error.h"
#include "datapath/forward/icmpv6_error.h"
#include "datapath/forward/ipv4.h"
#include "datapath/forward/ipv6.h"
#include "datapath/link/ethernet_interface.h"
#include "datapath/link/ip_gid.h"
#include "datapath/offload/packet.h"
#include "datapath/router/port.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

namespace verbline::router {

/// A field of a packet's header, which begins at offset `at`.
template <class Header, auto member>
auto header_field(const rte_mbuf& packet, std::size_t at = 0) {
    return offload::checked_header<Header>(packet, at).template get<member>();
}

struct Ipv4Family {
    using Address = wire::Ipv4Address;
    using Header = wire::Ipv4;
    using Discard = forward::Ipv4Discard;
    using Error = forward::IcmpError;
    static constexpr auto* make_error = forward::icmp_error;
    static constexpr auto* check = forward::check_ipv4;
    static constexpr auto ether_type = wire::ether_type::ipv4;
    static bool is_plain(const rte_mbuf& packet, std::size_t at = 0) { return forward::is_plain_ipv4(packet, at); }
    static void spend_hop(rte_mbuf& packet, std::size_t at = 0) { forward::decrement_ttl(packet, at); }
    static constexpr bool fragments = true;  ///< routers may
    static constexpr bool has_broadcast = true;
    static constexpr bool has_scopes = false;  ///< addresses that are valid on one link only

    static Address source_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::source>(packet, at);
    }
    static Address destination_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::destination>(packet, at);
    }
    static std::uint8_t hops_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::time_to_live>(packet, at);
    }
    /// Of IPv6 the first, which may be an extension header.
    static wire::IpProtocol protocol_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::protocol>(packet, at);
    }
    static bool may_fragment(const rte_mbuf& packet) { return !header_field<Header, &Header::dont_fragment>(packet); }
    static bool is_group(Address address) { return address == Address{0xffff'ffff} || wire::is_multicast(address); }
    /// Whether many hosts may use it, so that no route leads back.
    static bool is_shared(Address source) { return source == Address{}; }
    /// Of groups: 224.0.0.0/24 (RFC 5771, 4).
    static bool stays_on_link(Address group) { return static_cast<std::uint32_t>(group) >> 8 == 0xe00000; }
    /// Whether it is IGMP.
    static bool is_membership(const rte_mbuf& packet) { return protocol_of(packet) == wire::IpProtocol::igmp; }
    static wire::Gid gid_of(Address address) { return link::gid_of(address); }

    static Error no_route() { return Error::net_unreachable(); }
    static Error neighbour_unreachable() { return Error::host_unreachable(); }
    static Error too_big(std::uint32_t mtu) { return Error::fragmentation_needed(mtu); }
    static Address error_source(const Ports&, const ShardPort& from, const rte_mbuf&) { return from.addresses.address; }

    /// The link's destination of a group or a broadcast.
    static const link::Destination* group(ShardPort& out, Address group, link::Destination& scratch) {
        if (!out.broadcast || !wire::is_multicast(group) || out.ethernet() == nullptr)
            return out.broadcast ? &*out.broadcast : nullptr;
        scratch = *out.broadcast;
        link::set_ethernet_group(scratch, group);
        return &scratch;
    }
};

struct Ipv6Family {
    using Address = wire::Ipv6Address;
    using Header = wire::Ipv6;
    using Discard = forward::Ipv6Discard;
    using Error = forward::Icmpv6Error;
    static constexpr auto* make_error = forward::icmpv6_error;
    static constexpr auto* check = forward::check_ipv6;
    static constexpr auto ether_type = wire::ether_type::ipv6;
    static bool is_plain(const rte_mbuf& packet, std::size_t at = 0) { return forward::is_plain_ipv6(packet, at); }
    static void spend_hop(rte_mbuf& packet, std::size_t at = 0) { forward::decrement_hop_limit(packet, at); }
    static constexpr bool fragments = false;  ///< RFC 8200, 5
    static constexpr bool has_broadcast = false;
    static constexpr bool has_scopes = true;

    static Address source_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::source>(packet, at);
    }
    static Address destination_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::destination>(packet, at);
    }
    static std::uint8_t hops_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::hop_limit>(packet, at);
    }
    static wire::IpProtocol protocol_of(const rte_mbuf& packet, std::size_t at = 0) {
        return header_field<Header, &Header::next_header>(packet, at);
    }
    static bool may_fragment(const rte_mbuf&) { return false; }
    static bool is_group(const Address& address) { return wire::is_multicast(address); }
    static bool is_shared(const Address& source) { return source == Address{} || wire::is_link_local(source); }
    /// Of groups: those of an interface or a link (RFC 4291, 2.7).
    static bool stays_on_link(const Address& group) { return (wire::load8(group.bytes, 1) & 0xf) <= 2; }
    /// Whether it is MLD, behind its alert (RFC 3810, 5).
    static bool is_membership(const rte_mbuf& packet) { return forward::is_listener_discovery(packet); }
    static wire::Gid gid_of(const Address& address) { return link::gid_of(address); }

    static Error no_route() { return Error::no_route(); }
    static Error neighbour_unreachable() { return Error::address_unreachable(); }
    static Error too_big(std::uint32_t mtu) { return Error::packet_too_big(mtu); }
    /// RFC 4443, 2.2: an address of this router that the sender's answers would reach; of a port that has none, another
    /// port's.
    static Address error_source(const Ports& ports, const ShardPort& from, const rte_mbuf& about) {
        if (wire::is_link_local(source_of(about))) return from.addresses.link_local;
        if (from.addresses.ipv6 != Address{}) return from.addresses.ipv6;
        const auto other =
            std::ranges::find_if(ports, [](const auto& port) { return port->addresses.ipv6 != Address{}; });
        return other != ports.end() ? (*other)->addresses.ipv6 : Address{};
    }

    static const link::Destination* group(ShardPort& out, const Address& group, link::Destination& scratch) {
        if (!out.ipv6_multicast || out.ethernet() == nullptr)
            return out.ipv6_multicast ? &*out.ipv6_multicast : nullptr;
        scratch = *out.ipv6_multicast;
        link::set_ethernet_group(scratch, group);
        return &scratch;
    }
};

}  // namespace verbline::router
