// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/icmp_error.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <rte_mbuf.h>

#include "datapath/forward/ipv4.h"
#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"

namespace verbline::forward {

using wire::Icmp;
using wire::Ipv4;

namespace {

constexpr std::uint32_t headers_size = Ipv4::size + Icmp::size;
constexpr std::uint32_t max_quote = 576 - headers_size;
constexpr std::uint8_t internetwork_control = 48;  ///< DSCP CS6: IP precedence 6 (RFC 1812, 4.3.2.5)

/// Echo, router discovery, timestamp, information, address mask. A type we do not know may be an error.
bool is_query(std::uint8_t type) {
    return type == 0 || (type >= 8 && type <= 10) || (type >= 13 && type <= 18);
}

/// The header, if the packet may be answered.
std::optional<Ipv4> answerable(const rte_mbuf& offending) {
    const auto bytes = offload::first_segment(offending);
    const auto ip = Ipv4::parse(bytes, offending.pkt_len);
    if (!ip || ip->fragment_offset != 0) return std::nullopt;
    const auto to = static_cast<std::uint32_t>(ip->destination), from = static_cast<std::uint32_t>(ip->source);
    if (wire::is_multicast(ip->destination) || to == 0xffff'ffff) return std::nullopt;
    if (is_martian_source(ip->source) || from >> 28 == 0xf) return std::nullopt;
    if (ip->protocol == wire::IpProtocol::icmp) {
        const auto icmp = Icmp::parse(bytes.subspan(ip->header_size()));
        if (!icmp || !is_query(icmp->type)) return std::nullopt;
    }
    return *ip;
}

}  // namespace

rte_mbuf* icmp_error(const rte_mbuf& offending, const IcmpError& error, wire::Ipv4Address source, rte_mempool& pool) {
    const auto about = answerable(offending);
    if (!about) return nullptr;
    auto* const message = rte_pktmbuf_alloc(&pool);
    if (message == nullptr) return nullptr;
    const auto room = rte_pktmbuf_tailroom(message);
    const auto quote = std::min<std::uint32_t>(about->total_length, max_quote);
    const auto size = static_cast<std::uint16_t>(headers_size + quote);
    if (size > room) {
        rte_pktmbuf_free(message);
        return nullptr;
    }
    message->data_len = size;
    message->pkt_len = size;

    const auto bytes = offload::first_segment(*message);
    Ipv4{.dscp = internetwork_control,
         .total_length = size,
         .identification = about->identification,
         .protocol = wire::IpProtocol::icmp,
         .source = source,
         .destination = about->source}
        .with_checksum()
        .emit(bytes.first<Ipv4::size>());
    Icmp{.type = error.type, .code = error.code, .sequence = error.mtu}.emit(bytes.subspan<Ipv4::size, Icmp::size>());
    auto* to = bytes.data() + headers_size;
    offload::for_each_piece(offending, 0, quote, [&](wire::Bytes piece) {
        std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
    });
    const auto icmp = bytes.subspan(Ipv4::size);
    wire::store16(icmp, 2, offload::Sum{}.add(icmp).checksum());
    return message;
}

}  // namespace verbline::forward
