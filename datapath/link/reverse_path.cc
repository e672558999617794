// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/reverse_path.h"

#include <limits>
#include <utility>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipv4.h"

namespace verbline::link {
namespace {

constexpr int ecn_bits = 3;  // concern the path to us only (RFC 3168)

/// In the IPv6 reading these are bytes of the source's address, so more than its version must be right.
std::optional<ReversePath> over_ipv4(std::span<const std::byte, wire::Grh::size> area) {
    const auto header = area.last<wire::Ipv4::size>();
    const auto ip = wire::Ipv4::parse(header, std::numeric_limits<std::uint16_t>::max());
    if (!ip || !wire::Ipv4::checksum_ok(header) || ip->protocol != wire::IpProtocol::udp) return std::nullopt;
    return ReversePath{.peer = gid_of(ip->source),
                       .ours = gid_of(ip->destination),
                       .traffic_class = static_cast<std::uint8_t>(ip->dscp << 2),
                       .udp = true};
}

}  // namespace

std::optional<ReversePath> reverse_path(std::span<const std::byte, wire::Grh::size> area) {
    if (const auto way = over_ipv4(area)) return way;
    const auto grh = wire::Grh::parse(area);
    if (!grh) return std::nullopt;
    const bool udp = grh->next_header == std::to_underlying(wire::IpProtocol::udp);
    const auto traffic_class = udp ? grh->traffic_class & ~ecn_bits : grh->traffic_class;
    return ReversePath{.peer = grh->source,
                       .ours = grh->destination,
                       .flow_label = grh->flow_label,
                       .traffic_class = static_cast<std::uint8_t>(traffic_class),
                       .udp = udp};
}

}  // namespace verbline::link
