// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/ud.h"

#include <algorithm>

#include <rte_mbuf.h>

#include "datapath/link/arrival.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/part.h"
#include "datapath/transport/opcode.h"
#include "datapath/transport/ud_check.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"

namespace verbline::transport {
namespace {

constexpr auto ud_send_only = opcode::of(Service::ud, opcode::send_only);

bool is_group(const link::SourceAddress& from, const wire::AddressHandle& to) {
    if (from.carrier == link::Carrier::soft_ib) return wire::is_multicast(to.dlid);
    return link::is_group(to.dgid);
}

}  // namespace

void UdQueuePair::attach(const pmd::MulticastAddress& group) {
    if (!attached(group)) groups_.push_back(group);
}

void UdQueuePair::detach(const pmd::MulticastAddress& group) {
    std::erase_if(groups_, [&](const auto& each) { return each.mlid == group.mlid && each.mgid == group.mgid; });
}

bool UdQueuePair::attached(const pmd::MulticastAddress& group) const noexcept {
    const bool by_lid = attributes_.port.carrier == link::Carrier::soft_ib;
    return std::ranges::any_of(
        groups_, [&](const auto& each) { return by_lid ? each.mlid == group.mlid : each.mgid == group.mgid; });
}

UdQueuePair::Addressed UdQueuePair::addressed(const Packet& packet) const noexcept {
    const auto frame = packet.frame();
    const auto& port = attributes_.port;
    if (port.carrier == link::Carrier::soft_ib) {
        const auto lid = link::destination_lid(frame, packet.arrival);
        const bool group = wire::is_multicast(lid);
        return {.group = group,
                .ours = group ? attached({.mlid = lid}) : lid == port.lid,
                .from_us = group && link::source_lid(frame, packet.arrival) == port.lid};
    }
    const auto gid = link::destination_gid(frame, packet.arrival);
    const bool group = link::is_group(gid);
    return {.group = group,
            .ours = group ? attached({.mgid = gid}) : gid == port.gid,
            .from_us = group && link::source_gid(frame, packet.arrival) == port.gid};
}

std::optional<UdDiscard> UdQueuePair::discard(Packet& packet) const noexcept {
    const auto [group, ours, from_us] = addressed(packet);
    if (!ours) return group ? UdDiscard::rx_dropped_multicast : UdDiscard::rx_dropped_address;
    if (packet.destination != (group ? wire::multicast_qpn : attributes_.qpn)) return UdDiscard::rx_dropped_qpn;
    if (packet.opcode != ud_send_only) return UdDiscard::rx_dropped_opcode;
    packet.own_multicast = from_us;
    return ud_discard(packet, {.qpn = attributes_.qpn, .pkey = attributes_.pkey, .qkey = attributes_.qkey});
}

link::Destination ud_destination(const UdQueuePair::Attributes& from, const wire::AddressHandle& to,
                                 wire::MacAddress to_mac, wire::Qpn qpn, wire::QKey qkey) {
    const bool group = is_group(from.port, to);
    const auto envelope =
        link::make_envelope(from.port, to, group ? link::multicast_mac(from.port.carrier, to.dgid) : to_mac,
                            link::udp_source_port(to.flow_label, from.qpn, qpn));
    link::Destination out{
        .sealing = link::sealing_of(envelope), .bth_at = envelope.size, .address = to, .qpn = qpn, .qkey = qkey};
    std::ranges::copy(envelope.view(), out.header.append(envelope.size).begin());
    BthWords{.opcode = ud_send_only, .pkey = from.pkey, .destination = group ? wire::multicast_qpn : qpn}.emit(
        out.header.append(wire::Bth::size));
    wire::Deth{.qkey = qkey, .source = from.qpn}.emit(out.header.append(wire::Deth::size).first<wire::Deth::size>());
    return out;
}

bool fill_datagram(rte_mbuf& frame, const link::Destination& to, wire::Psn psn) noexcept {
    const std::uint32_t unpadded = frame.data_len;
    auto* const data = rte_pktmbuf_mtod(&frame, std::byte*);
    const auto pad = padding_of(unpadded - to.bth_at);
    const auto size = static_cast<std::uint32_t>(unpadded + pad + link::trailer_size(to.sealing.carrier));
    if (rte_pktmbuf_append(&frame, static_cast<std::uint16_t>(size - unpadded)) == nullptr) return false;

    const wire::MutableBytes bytes(data, size);
    std::fill_n(bytes.begin() + unpadded, pad, std::byte{0});
    const auto bth = link::writable_part_at<wire::Bth>(bytes, to.bth_at);
    if (pad != 0) bth.set<&wire::Bth::pad>(pad);  // the header's is zero
    bth.set<&wire::Bth::psn>(psn);
    link::write_lengths(bytes, to.sealing, static_cast<std::uint16_t>(psn.value()));
    return true;
}

void seal_datagram(rte_mbuf& frame, const link::Destination& to) noexcept {
    link::write_crcs({rte_pktmbuf_mtod(&frame, std::byte*), frame.data_len}, to.sealing);
}

bool finish_datagram(rte_mbuf& frame, const link::Destination& to, wire::Psn psn) noexcept {
    const bool filled = fill_datagram(frame, to, psn);
    if (filled) seal_datagram(frame, to);
    return filled;
}

}  // namespace verbline::transport
