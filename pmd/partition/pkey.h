// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The P_Key of a received frame, found without checking more of it than is needed for that.

#include <algorithm>
#include <cstddef>
#include <optional>

#include "datapath/wire/bth.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/types.h"
#include "datapath/wire/udp.h"

namespace verbline::pmd::partition {

/// Where the BTH is, on the carriers of IPoIB: the soft fabric, with a GRH or without, and RoCE v2 over IPv6. Zero: the
/// frame is of another kind, or too short.
constexpr std::size_t bth_at(wire::Bytes frame) noexcept {
    using wire::Ethernet, wire::Grh, wire::Ipv6, wire::Lrh, wire::Udp;
    if (frame.size() < Ethernet::size) return 0;
    const wire::EtherType type{wire::load16(frame, Ethernet::size - 2)};
    if (type == wire::ether_type::soft_ib) {
        const auto lrh = wire::View<Lrh>::over(frame.subspan(Ethernet::size));
        if (!lrh) return 0;
        const auto next = lrh->get<&Lrh::next>();
        if (next == wire::NextHeader::grh) return Ethernet::size + Lrh::size + Grh::size;
        return next == wire::NextHeader::bth ? Ethernet::size + Lrh::size : 0;
    }
    if (type != wire::ether_type::ipv6) return 0;
    const auto ip = wire::View<Ipv6>::over(frame.subspan(Ethernet::size));
    if (!ip || ip->get<&Ipv6::next_header>() != wire::IpProtocol::udp) return 0;
    const auto udp = wire::View<Udp>::over(frame.subspan(Ethernet::size + Ipv6::size));
    if (!udp || udp->get<&Udp::destination_port>() != wire::roce_v2_port) return 0;
    return Ethernet::size + Ipv6::size + Udp::size;
}

/// None: the frame is no InfiniBand packet, or is cut before its BTH ends.
constexpr std::optional<wire::PKey> pkey_of(wire::Bytes frame) noexcept {
    const auto at = bth_at(frame);
    if (at == 0) return std::nullopt;
    const auto bth = wire::View<wire::Bth>::over(frame.subspan(std::min(at, frame.size())));
    if (!bth) return std::nullopt;
    return bth->get<&wire::Bth::pkey>();
}

}  // namespace verbline::pmd::partition
