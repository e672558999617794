// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/soft_ib.h"

#include <algorithm>
#include <cstring>

#include <rte_mbuf.h>

#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ib_packet.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/vcrc.h"

namespace verbline::link::soft_ib {
namespace {

using wire::Bth, wire::Deth, wire::Ethernet, wire::Grh, wire::Lrh, wire::icrc_size, wire::vcrc_size;

constexpr std::size_t lrh_at = Ethernet::size;

constexpr std::uint8_t ud_send_only = 0x64;  // IBTA 9.2.1

}  // namespace

Header ud_header(const Source& from, const Destination& to) {
    const auto& ah = to.address;
    Header header;
    Ethernet{.destination = mac_of(ah.dlid), .source = mac_of(from.lid), .type = wire::ether_type::soft_ib}.emit(
        header.append(Ethernet::size).first<Ethernet::size>());
    Lrh{.service_level = ah.sl,
        .next = ah.global ? wire::NextHeader::grh : wire::NextHeader::bth,
        .destination = ah.dlid,
        .source = from.lid}
        .emit(header.append(Lrh::size).first<Lrh::size>());
    if (ah.global) {
        Grh{.traffic_class = ah.traffic_class,
            .flow_label = ah.flow_label,
            .hop_limit = ah.hop_limit,
            .source = from.gid,
            .destination = ah.dgid}
            .emit(header.append(Grh::size).first<Grh::size>());
    }
    const auto destination = wire::is_multicast(ah.dlid) ? wire::multicast_qpn : to.qpn;
    Bth{.opcode = ud_send_only, .pkey = from.pkey, .dest = destination}.emit(
        header.append(Bth::size).first<Bth::size>());
    Deth{.qkey = to.qkey, .source = from.qpn}.emit(header.append(Deth::size).first<Deth::size>());
    return header;
}

bool finish(rte_mbuf& frame, wire::Psn psn) noexcept {
    const std::uint32_t unpadded = frame.data_len;
    auto* const data = rte_pktmbuf_mtod(&frame, std::byte*);
    const bool global = wire::load8({data, unpadded}, lrh_at + 1) % 4 == static_cast<unsigned>(wire::NextHeader::grh);
    const std::size_t bth_at = lrh_at + Lrh::size + (global ? Grh::size : 0);
    // All headers are multiples of four bytes except the Ethernet header, so the payload's size decides the padding.
    const std::uint32_t pad = -(unpadded - lrh_at) & 3;
    if (rte_pktmbuf_append(&frame, static_cast<std::uint16_t>(pad + trailer_size)) == nullptr) return false;

    const wire::MutableBytes bytes(data, unpadded + pad + trailer_size);
    std::fill_n(bytes.begin() + unpadded, pad, std::byte{0});
    const std::size_t through_icrc = bytes.size() - lrh_at - vcrc_size;
    wire::store16(bytes, lrh_at + 4, through_icrc / 4);  // LRH:PktLen counts words from LRH to ICRC (IBTA 7.7.8)
    if (global) wire::store16(bytes, lrh_at + Lrh::size + 4, through_icrc - Lrh::size - Grh::size);
    wire::store8(bytes, bth_at + 1, (wire::load8(bytes, bth_at + 1) & ~0x30u) | pad << 4);
    wire::store24(bytes, bth_at + 9, psn.value());
    return wire::seal(bytes.subspan(lrh_at));
}

std::expected<Datagram, Discard> parse(wire::Bytes frame) noexcept {
    const auto ethernet = Ethernet::parse(frame);
    if (!ethernet) return std::unexpected(Discard::rx_dropped_truncated);
    if (ethernet->type != wire::ether_type::soft_ib) return std::unexpected(Discard::rx_dropped_foreign);

    const auto packet = frame.subspan(lrh_at);
    const auto lrh = Lrh::parse(packet);
    if (!lrh) {
        return std::unexpected(lrh.error() == wire::Malformed::truncated ? Discard::rx_dropped_truncated
                                                                         : Discard::rx_dropped_lrh);
    }
    const std::size_t through_icrc = lrh->packet_size();
    const bool global = lrh->next == wire::NextHeader::grh;
    const std::size_t headers = Lrh::size + (global ? Grh::size : 0) + Bth::size + Deth::size;
    if ((!global && lrh->next != wire::NextHeader::bth) || through_icrc < headers + icrc_size) {
        return std::unexpected(Discard::rx_dropped_lrh);
    }
    if (packet.size() < through_icrc + vcrc_size) return std::unexpected(Discard::rx_dropped_truncated);
    switch (wire::verify(packet.first(through_icrc + vcrc_size))) {
        case wire::IbCheck::ok: break;
        case wire::IbCheck::vcrc: return std::unexpected(Discard::rx_dropped_vcrc);
        case wire::IbCheck::icrc: return std::unexpected(Discard::rx_dropped_icrc);
        case wire::IbCheck::malformed: return std::unexpected(Discard::rx_dropped_bth);
    }

    Datagram out{.slid = lrh->source, .dlid = lrh->destination, .sl = lrh->service_level, .global = global};
    std::size_t at = Lrh::size;
    if (global) {
        const auto grh = Grh::parse(packet.subspan(at));
        if (!grh || grh->next_header != Grh::transport || grh->payload_length != through_icrc - Lrh::size - Grh::size) {
            return std::unexpected(Discard::rx_dropped_bth);
        }
        out.sgid = grh->source;
        out.dgid = grh->destination;
        at += Grh::size;
    }
    const auto bth = Bth::parse(packet.subspan(at));
    if (!bth) return std::unexpected(Discard::rx_dropped_bth);
    if (bth->opcode != ud_send_only) return std::unexpected(Discard::rx_dropped_opcode);
    const auto deth = Deth::parse(packet.subspan(at + Bth::size));
    if (!deth || through_icrc - icrc_size - headers < bth->pad) return std::unexpected(Discard::rx_dropped_bth);
    out.pkey = bth->pkey;
    out.destination = bth->dest;
    out.qkey = deth->qkey;
    out.source = deth->source;
    out.payload_offset = static_cast<std::uint16_t>(lrh_at + headers);
    out.payload_size = static_cast<std::uint16_t>(through_icrc - icrc_size - headers - bth->pad);
    return out;
}

}  // namespace verbline::link::soft_ib
