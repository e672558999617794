// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/soft_ib.h"

#include <algorithm>

#include "datapath/link/part.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ib_packet.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/vcrc.h"

namespace verbline::link::soft_ib {
namespace {

using wire::Bth, wire::Ethernet, wire::Grh, wire::Lrh, wire::icrc_size, wire::vcrc_size;

constexpr std::size_t lrh_at = Ethernet::size;

bool is_global(wire::Bytes frame) {
    return part_at<Lrh>(frame, lrh_at).get<&Lrh::next>() == wire::NextHeader::grh;
}

}  // namespace

wire::Grh grh_of(const wire::Gid& from, const wire::AddressHandle& to) {
    return {.traffic_class = to.traffic_class,
            .flow_label = to.flow_label,
            .hop_limit = to.hop_limit,
            .source = from,
            .destination = to.dgid};
}

Header routing_header(wire::Lid from, const wire::Gid& from_gid, const wire::AddressHandle& to) {
    Header header;
    Ethernet{.destination = mac_of(to.dlid), .source = mac_of(from), .type = wire::ether_type::soft_ib}.emit(
        header.append(Ethernet::size).first<Ethernet::size>());
    Lrh{.service_level = to.sl,
        .next = to.global ? wire::NextHeader::grh : wire::NextHeader::bth,
        .destination = to.dlid,
        .source = from}
        .emit(header.append(Lrh::size).first<Lrh::size>());
    if (to.global) grh_of(from_gid, to).emit(header.append(Grh::size).first<Grh::size>());
    return header;
}

void set_source(wire::MutableBytes frame, wire::Lid lid) noexcept {
    writable_part_at<Ethernet>(frame).set<&Ethernet::source>(mac_of(lid));
    writable_part_at<Lrh>(frame, lrh_at).set<&Lrh::source>(lid);
}

void set_lengths(wire::MutableBytes frame) noexcept {
    const std::size_t through_icrc = frame.size() - lrh_at - vcrc_size;
    const bool global = is_global(frame);
    wire::store16(frame, lrh_at + 4, through_icrc / 4);  // LRH:PktLen counts words from LRH to ICRC (IBTA 7.7.8)
    if (global) wire::store16(frame, lrh_at + Lrh::size + 4, through_icrc - Lrh::size - Grh::size);
}

bool write_crcs(wire::MutableBytes frame) noexcept {
    return wire::seal(frame.subspan(lrh_at));
}

void write_vcrc(wire::MutableBytes frame) noexcept {
    wire::Vcrc vcrc;
    vcrc.add(frame.subspan(lrh_at, frame.size() - lrh_at - vcrc_size));
    std::ranges::copy(vcrc.bytes(), frame.last(vcrc_size).begin());
}

std::expected<Parts, Discard> check(wire::Bytes frame) noexcept {
    // By views: headers as values cost as much as the CRCs of a small packet.
    if (frame.size() < Ethernet::size) return std::unexpected(Discard::rx_dropped_truncated);
    if (part_at<Ethernet>(frame).get<&Ethernet::type>() != wire::ether_type::soft_ib) {
        return std::unexpected(Discard::rx_dropped_foreign);
    }
    const auto packet = frame.subspan(lrh_at);
    if (packet.size() < Lrh::size) return std::unexpected(Discard::rx_dropped_truncated);
    const auto lrh = part_at<Lrh>(packet);
    const auto next = lrh.get<&Lrh::next>();
    const bool global = next == wire::NextHeader::grh;
    const std::size_t through_icrc = std::size_t{lrh.get<&Lrh::packet_words>()} * 4;
    const std::size_t routing = Lrh::size + (global ? Grh::size : 0);
    if (Lrh::Layout::refusal(lrh.bytes()) || (!global && next != wire::NextHeader::bth) ||
        through_icrc < routing + Bth::size + icrc_size) {
        return std::unexpected(Discard::rx_dropped_lrh);
    }
    if (packet.size() < through_icrc + vcrc_size) return std::unexpected(Discard::rx_dropped_truncated);
    switch (wire::verify(packet.first(through_icrc + vcrc_size))) {
        case wire::IbCheck::ok: break;
        case wire::IbCheck::vcrc: return std::unexpected(Discard::rx_dropped_vcrc);
        case wire::IbCheck::icrc: return std::unexpected(Discard::rx_dropped_icrc);
        case wire::IbCheck::malformed: return std::unexpected(Discard::rx_dropped_bth);
    }
    if (global) {
        const auto grh = part_at<Grh>(packet, Lrh::size);
        if (Grh::Layout::refusal(grh.bytes()) || grh.get<&Grh::next_header>() != Grh::transport ||
            grh.get<&Grh::payload_length>() != through_icrc - routing) {
            return std::unexpected(Discard::rx_dropped_bth);
        }
    }
    return Parts{.global = global,
                 .network_at = static_cast<std::uint32_t>(global ? lrh_at + Lrh::size : lrh_at),
                 .bth_at = static_cast<std::uint32_t>(lrh_at + routing),
                 .icrc_at = static_cast<std::uint32_t>(lrh_at + through_icrc - icrc_size)};
}

}  // namespace verbline::link::soft_ib
