// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/ipv4.h"

#include <rte_mbuf.h>

#include "datapath/forward/trim.h"
#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"

namespace verbline::forward {

using offload::first_segment;
using wire::Ipv4;
using wire::Ipv4Address;

namespace {

constexpr Ipv4Address broadcast{0xffff'ffff};

bool checksum_ok(const rte_mbuf& packet, wire::Bytes header) {
    if ((packet.ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0) return true;
    const auto said = packet.ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
    return said == RTE_MBUF_F_RX_IP_CKSUM_GOOD || offload::header_verifies(header);
}

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
    if (!checksum_ok(packet, bytes.first(header_size))) return rx_dropped_ip_checksum;

    const auto destination = ip->get<&Ipv4::destination>();
    if (is_martian(ip->get<&Ipv4::source>(), destination)) return rx_dropped_martian_source;
    const auto network = static_cast<std::uint32_t>(destination) >> 24;
    if (network == 0 || network == 127) return rx_dropped_martian_destination;

    if (total_length < packet.pkt_len) trim(packet, total_length);
    return std::nullopt;
}

void decrement_ttl(rte_mbuf& packet) {
    const auto ip = offload::checked_header<Ipv4>(packet);
    const auto before = wire::load16(ip.bytes(), 8);  // TTL and protocol share a word
    const auto after = static_cast<std::uint16_t>(before - 0x100);
    ip.set<&Ipv4::time_to_live>(static_cast<std::uint8_t>(after >> 8));
    ip.set<&Ipv4::checksum>(wire::updated_checksum(ip.get<&Ipv4::checksum>(), before, after));
}

}  // namespace verbline::forward
