// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/icmpv6_error.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <rte_mbuf.h>

#include "datapath/forward/ipv6.h"
#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv6.h"

namespace verbline::forward {

using wire::Icmpv6;
using wire::IpProtocol;
using wire::Ipv6;

namespace {

constexpr std::uint32_t minimum_mtu = 1280;  ///< of every link (RFC 8200, 5)
constexpr std::uint32_t icmpv6_headers_size = Ipv6::size + Icmpv6::size;
constexpr int max_extension_headers = 8;  ///< more than hosts send

/// Errors, and redirects.
bool must_not_be_answered(std::uint8_t type) {
    return type < wire::icmpv6_type::echo || type == wire::icmpv6_type::redirect;
}

/// Whether what follows the IPv6 header is a message that must not be answered. True if that cannot be determined.
bool silences(wire::Bytes rest, IpProtocol next) {
    for (int i = 0; i < max_extension_headers; ++i) {
        switch (next) {
            case IpProtocol::icmpv6: return rest.empty() || must_not_be_answered(wire::load8(rest, 0));
            case IpProtocol::fragment:
            case IpProtocol::hop_by_hop:
            case IpProtocol::routing:
            case IpProtocol::destination_options: break;
            default: return false;
        }
        if (rest.size() < 8) return true;
        const bool fragment = next == IpProtocol::fragment;
        const bool later_fragment = fragment && (wire::load16(rest, 2) & 0xfff8) != 0;
        const std::size_t length = fragment ? 8 : (std::size_t{wire::load8(rest, 1)} + 1) * 8;
        next = static_cast<IpProtocol>(wire::load8(rest, 0));
        if (later_fragment) return next == IpProtocol::icmpv6;
        if (rest.size() < length) return true;
        rest = rest.subspan(length);
    }
    return true;
}

/// The header, if the packet may be answered.
std::optional<Ipv6> answerable(const rte_mbuf& offending, const Icmpv6Error& error) {
    const auto bytes = offload::first_segment(offending);
    const auto ip = Ipv6::parse(bytes, offending.pkt_len);
    if (!ip || is_martian_source(ip->source)) return std::nullopt;
    if (wire::is_multicast(ip->destination) && error.type != wire::icmpv6_type::packet_too_big) return std::nullopt;
    if (silences(bytes.subspan(Ipv6::size), ip->next_header)) return std::nullopt;
    return *ip;
}

}  // namespace

rte_mbuf* icmpv6_error(const rte_mbuf& offending, const Icmpv6Error& error, const wire::Ipv6Address& source,
                       rte_mempool& pool) {
    const auto about = answerable(offending, error);
    if (!about) return nullptr;
    auto* const message = rte_pktmbuf_alloc(&pool);
    if (message == nullptr) return nullptr;
    const auto quote = std::min<std::uint32_t>(Ipv6::size + about->payload_length, minimum_mtu - icmpv6_headers_size);
    const auto size = static_cast<std::uint16_t>(icmpv6_headers_size + quote);
    if (size > rte_pktmbuf_tailroom(message)) {
        rte_pktmbuf_free(message);
        return nullptr;
    }
    message->data_len = size;
    message->pkt_len = size;

    const auto bytes = offload::first_segment(*message);
    Ipv6{.payload_length = static_cast<std::uint16_t>(size - Ipv6::size),
         .next_header = IpProtocol::icmpv6,
         .source = source,
         .destination = about->source}
        .emit(bytes.first<Ipv6::size>());
    Icmpv6{.type = error.type, .code = error.code, .word = error.mtu}.emit(bytes.subspan<Ipv6::size, Icmpv6::size>());
    auto* to = bytes.data() + icmpv6_headers_size;
    offload::for_each_piece(offending, 0, quote, [&](wire::Bytes piece) {
        std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
    });
    const auto icmp = bytes.subspan(Ipv6::size);
    auto sum = offload::pseudo_header(bytes, IpProtocol::icmpv6, static_cast<std::uint32_t>(icmp.size()));
    wire::store16(icmp, 2, sum.add(icmp).checksum());
    return message;
}

}  // namespace verbline::forward
