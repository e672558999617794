// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/ipv4.h"

#include <utility>

#include "datapath/forward/trim.h"

namespace verbline::forward {

using offload::first_segment;
using wire::Ipv4;
using wire::Ipv4Address;

namespace {

constexpr Ipv4Address broadcast{0xffff'ffff};

/// RFC 1122, 3.2.1.3: a host that does not know its address yet (DHCP, IGMP) sends from 0.0.0.0, to its own network
/// only.
bool is_martian(Ipv4Address source, Ipv4Address destination) {
    const bool stays_here = destination == broadcast || wire::is_multicast(destination);
    return is_martian_source(source) && !(source == Ipv4Address{} && stays_here);
}

}  // namespace

std::optional<Ipv4Discard> check_ipv4(rte_mbuf& packet) {
    using enum Ipv4Discard;
    const auto bytes = first_segment(std::as_const(packet));
    const auto ip = wire::View<Ipv4>::over(bytes);
    if (!ip) return rx_dropped_ip_header;
    if (wire::load8(bytes, 0) >> 4 != 4) return rx_dropped_ip_version;
    const std::size_t header_size = ip->get<&Ipv4::header_words>() * 4u;
    const std::uint32_t total_length = ip->get<&Ipv4::total_length>();
    if (header_size < Ipv4::size || header_size > bytes.size() || header_size > total_length)
        return rx_dropped_ip_header;
    if (total_length > packet.pkt_len) return rx_dropped_ip_truncated;
    if (!needs_no_verification(packet) && !offload::header_verifies(bytes.first(header_size)))
        return rx_dropped_ip_checksum;

    const auto destination = ip->get<&Ipv4::destination>();
    if (is_martian(ip->get<&Ipv4::source>(), destination)) return rx_dropped_martian_source;
    const auto network = static_cast<std::uint32_t>(destination) >> 24;
    if (network == 0 || network == 127) return rx_dropped_martian_destination;

    if (total_length < packet.pkt_len) trim(packet, total_length);
    return std::nullopt;
}

}  // namespace verbline::forward
