// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/ipv6.h"

#include <utility>

#include <rte_mbuf.h>

#include "datapath/forward/trim.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/mld.h"

namespace verbline::forward {

using offload::first_segment;
using wire::Ipv6;
using wire::Ipv6Address;

namespace {

/// ::, ::1 and ::ffff:0:0/96: addresses of one host, or of another family, which are on no wire (RFC 4291, 2.5.2,
/// 2.5.3 and 2.5.5.2).
bool stays_in_host(const Ipv6Address& address) {
    const wire::Bytes bytes(address.bytes);
    if (wire::load64(bytes, 0) != 0) return false;
    const auto low = wire::load64(bytes, 8);
    return low <= 1 || low >> 32 == 0xffff;
}

/// RFC 4291, 2.7: scope 0 is reserved, scope 1 is one interface.
bool stays_in_interface(const Ipv6Address& group) {
    return wire::is_multicast(group) && (wire::load8(group.bytes, 1) & 0xf) <= 1;
}

}  // namespace

bool is_martian_source(const Ipv6Address& address) {
    return stays_in_host(address) || wire::is_multicast(address);
}

std::optional<Ipv6Discard> check_ipv6(rte_mbuf& packet) {
    using enum Ipv6Discard;
    const auto bytes = first_segment(std::as_const(packet));
    const auto ip = wire::View<Ipv6>::over(bytes);
    if (!ip) return rx_dropped_ipv6_header;
    if (wire::load8(bytes, 0) >> 4 != 6) return rx_dropped_ipv6_version;
    const std::uint32_t length = Ipv6::size + ip->get<&Ipv6::payload_length>();
    if (length > packet.pkt_len) return rx_dropped_ipv6_truncated;

    const auto source = ip->get<&Ipv6::source>(), destination = ip->get<&Ipv6::destination>();
    if (stays_in_host(destination) || stays_in_interface(destination)) return rx_dropped_ipv6_martian_destination;
    const bool unaddressed = source == Ipv6Address{} && wire::is_multicast(destination);
    if (is_martian_source(source) && !unaddressed) return rx_dropped_ipv6_martian_source;

    if (length < packet.pkt_len) trim(packet, length);
    return std::nullopt;
}

bool is_neighbour_discovery(const rte_mbuf& packet, bool of_a_router) {
    const auto bytes = first_segment(packet);
    if (bytes.size() <= Ipv6::size || wire::load8(bytes, 6) != static_cast<unsigned>(wire::IpProtocol::icmpv6)) {
        return false;
    }
    const auto type = wire::load8(bytes, Ipv6::size);
    if (type == wire::icmpv6_type::router_solicitation) return of_a_router;
    return type == wire::icmpv6_type::neighbour_solicitation || type == wire::icmpv6_type::neighbour_advertisement;
}

bool is_listener_discovery(const rte_mbuf& packet) {
    constexpr auto hop_by_hop = static_cast<unsigned>(wire::IpProtocol::hop_by_hop);
    constexpr auto icmpv6 = static_cast<unsigned>(wire::IpProtocol::icmpv6);
    const auto bytes = first_segment(packet);
    if (bytes.size() < Ipv6::size + 8 || wire::load8(bytes, 6) != hop_by_hop) return false;
    const auto message = Ipv6::size + (wire::load8(bytes, Ipv6::size + 1) + std::size_t{1}) * 8;
    if (wire::load8(bytes, Ipv6::size) != icmpv6 || message >= bytes.size()) return false;
    const auto type = wire::load8(bytes, message);
    return (type >= wire::mld_type::query && type <= wire::mld_type::done) || type == wire::mld_type::report_v2;
}

}  // namespace verbline::forward
