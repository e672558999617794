// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/interface.h"

#include <cstring>

#include <rte_mbuf.h>

#include "datapath/ipoib/flow_port.h"
#include "datapath/link/arrival.h"
#include "datapath/link/gid_table.h"
#include "datapath/link/mbuf.h"
#include "datapath/link/part.h"
#include "datapath/link/soft_ib.h"
#include "datapath/link/transmit.h"
#include "datapath/link/transport_header.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/udp.h"
#include "pmd/datagram_source.h"

namespace verbline::ipoib {

using wire::IpoibHeader;

namespace {

/// Puts the headers in front of an IP packet; over UDP, with its flow's source port. False without the room.
bool put_headers(rte_mbuf& packet, const link::Destination& to) {
    const auto carrier = to.sealing.carrier;
    const bool over_udp = carrier == link::Carrier::roce_v2_ipv4 || carrier == link::Carrier::roce_v2_ipv6;
    const auto source_port = over_udp ? flow_port(offload::first_segment(packet)) : std::uint16_t{};
    if (!link::prepend(packet, to.header)) return false;
    if (over_udp) wire::store16(offload::first_segment(packet), to.bth_at - wire::Udp::size, source_port);
    return true;
}

wire::MacAddress mac_of(const wire::Gid& gid) {
    return link::mac_of_link_local(gid).value_or(wire::MacAddress{});
}

Origin origin_of_frame(const transport::Packet& packet) {
    const auto frame = packet.frame();
    Origin origin{.lid = link::source_lid(frame, packet.arrival),
                  .qpn = transport::deth_of(packet).get<&wire::Deth::source>(),
                  .to_group = packet.destination == wire::multicast_qpn};
    if (origin.lid == wire::Lid{}) [[unlikely]]
        origin.mac = mac_of(link::source_gid(frame, packet.arrival));
    return origin;
}

Origin origin_of_datagram(const rte_mbuf& payload) {
    const auto source = pmd::datagram_source(payload);
    Origin origin{.lid = source.lid, .qpn = source.qpn};
    if (!source.global) return origin;
    const auto header = wire::Grh::parse(pmd::datagram_header(payload));
    if (!header) return origin;  // RoCE v2 over IPv4 (annex A17)
    origin.to_group = header->destination.multicast();
    if (origin.lid == wire::Lid{}) origin.mac = mac_of(header->source);
    return origin;
}

}  // namespace

link::Destination destination(const Identity& from, const wire::AddressHandle& to, wire::Qpn qpn, wire::EtherType type,
                              wire::MacAddress to_mac) {
    auto out = transport::ud_destination(from, to, to_mac, qpn, from.qkey);
    IpoibHeader{.type = type}.emit(out.header.append(IpoibHeader::size).first<IpoibHeader::size>());
    return out;
}

void IpoibInterface::set_port(const std::optional<Identity>& port) {
    queue_pair_.reset();
    if (port) queue_pair_.emplace(*port);
}

void IpoibInterface::attach(const pmd::MulticastAddress& group) {
    if (queue_pair_) queue_pair_->attach(group);
}

void IpoibInterface::detach(const pmd::MulticastAddress& group) {
    if (queue_pair_) queue_pair_->detach(group);
}

void IpoibInterface::receive_into(link::Reception& out, Origins* origins) noexcept {
    out.ip_count = out.ipv6_count = out.punt_count = 0;
    std::array<rte_mbuf*, pmd::max_burst> frames;
    const auto received = poll_device(frames, out);
    for (auto* frame : received) {
        if (connections_ != nullptr && is_for_others(*frame)) [[unlikely]] {
            connections_->put(frame);
            continue;
        }
        Origin origin;
        if (auto* const reason = unwrap(*frame, origins != nullptr ? &origin : nullptr)) {
            reason->add();
            rte_pktmbuf_free(frame);
        } else {
            accept(frame, origin, out, origins);
        }
    }
    if (connections_ != nullptr) receive_connected(out, frames.size() - received.size());
}

/// Whether a frame is for another queue pair at our address, as far as its headers say: who takes it verifies it.
bool IpoibInterface::is_for_others(const rte_mbuf& frame) const noexcept {
    if (!queue_pair_ || frame.nb_segs != 1) return false;
    const auto& own = queue_pair_->attributes();
    const auto bytes = offload::first_segment(frame);
    const auto bth_at = link::transport_header_at(bytes);
    if (!bth_at || link::transport_header(bytes, *bth_at).get<&wire::Bth::dest>() == own.qpn) return false;
    const auto to = link::part_at<wire::Ethernet>(bytes).get<&wire::Ethernet::destination>();
    return to == link::soft_ib::mac_of(own.port.lid);
}

/// What has come by connections, as far as there is room for it.
void IpoibInterface::receive_connected(link::Reception& out, std::size_t most) noexcept {
    std::array<rte_mbuf*, pmd::max_burst> messages;
    bool any = false;
    const auto n = connections_->received(pmd::Burst(messages).first(most), any);
    for (auto* message : pmd::Burst(messages).first(n)) accept(message, {}, out, nullptr);
    if (any) out.idle = false;
    out.frames = static_cast<std::uint16_t>(out.frames + n);
}

Counter* IpoibInterface::unwrap(rte_mbuf& frame, Origin* origin) noexcept {
    if (!queue_pair_) return &ipoib_counters_.rx_dropped_down;
    if (carries_datagrams()) {  // hardware checked all of this
        if (origin != nullptr) *origin = origin_of_datagram(frame);
        return nullptr;
    }
    if (frame.nb_segs != 1) return &ipoib_counters_.rx_dropped_not_contiguous;
    transport::Packet packet{.mbuf = &frame};
    if (auto* const reason = open(packet)) return reason;
    if (origin != nullptr) *origin = origin_of_frame(packet);
    frame.data_off = static_cast<std::uint16_t>(packet.payload.data() - static_cast<const std::byte*>(frame.buf_addr));
    frame.data_len = static_cast<std::uint16_t>(packet.payload.size());
    frame.pkt_len = frame.data_len;
    // What the device says of checksums, and what a kernel's interface has left to do, is about the outer headers.
    frame.ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_TX_OFFLOAD_MASK);
    return nullptr;
}

Counter* IpoibInterface::open(transport::Packet& packet) noexcept {
    const auto frame = packet.frame();
    auto discard = link::open_headers(frame, queue_pair_->attributes().port.carrier, packet.arrival);
    if (!discard) discard = link::verify(frame, packet.arrival);
    if (discard) return &link_discards_[*discard];
    if (const auto fault = transport::parse(packet)) {
        if (*fault == transport::PacketFault::opcode) return &ud_discards_[transport::UdDiscard::rx_dropped_opcode];
        return &link_discards_[link::Discard::rx_dropped_length];
    }
    const auto reason = queue_pair_->discard(packet);
    return reason ? &ud_discards_[*reason] : nullptr;
}

void IpoibInterface::accept(rte_mbuf* payload, const Origin& origin, link::Reception& out, Origins* origins) noexcept {
    const auto discard = [&](Counter& why) {
        why.add();
        rte_pktmbuf_free(payload);
    };
    if (payload->data_len < IpoibHeader::size) return discard(ipoib_counters_.rx_dropped_short);
    const auto type = offload::checked_header<IpoibHeader>(*payload).get<&IpoibHeader::type>();
    rte_pktmbuf_adj(payload, IpoibHeader::size);
    if (type == wire::ether_type::ipv4) {
        counters_.rx_packets.add();
        counters_.rx_bytes.add(payload->pkt_len);
        if (origins != nullptr) origins->ip[out.ip_count] = origin;
        out.ip[out.ip_count++] = payload;
    } else if (type == wire::ether_type::ipv6) {
        counters_.rx_packets.add();
        counters_.rx_bytes.add(payload->pkt_len);
        if (origins != nullptr) origins->ipv6[out.ipv6_count] = origin;
        out.ipv6[out.ipv6_count++] = payload;
    } else if (type == wire::ether_type::arp) {
        counters_.rx_punted.add();
        if (origins != nullptr) origins->punts[out.punt_count] = origin;
        out.punts[out.punt_count++] = {type, payload};
    } else {
        discard(counters_.rx_dropped_ethertype);
    }
}

void IpoibInterface::transmit(pmd::Burst packets, link::Destinations to) noexcept {
    if (connections_ != nullptr) [[unlikely]] {
        const auto datagrams = transmit_connected(packets, to);
        packets = packets.first(datagrams), to = to.first(datagrams);
    }
    transmit_each(packets, to, [this](rte_mbuf& packet, const link::Destination& one) { return wrap(packet, one); });
}

/// Sends those that go by connections, and moves the others to the front; returns how many these are. All to one
/// neighbour go the same way, so that they stay in order.
std::size_t IpoibInterface::transmit_connected(pmd::Burst packets, link::Destinations to) noexcept {
    std::array<rte_mbuf*, pmd::max_burst> connected;
    std::array<const link::Destination*, pmd::max_burst> connections;
    std::size_t n = 0, datagrams = 0;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        if (to[i]->connection != 0) {
            connected[n] = packets[i];
            connections[n++] = to[i];
        } else {
            packets[datagrams] = packets[i];
            to[datagrams++] = to[i];
        }
    }
    if (n == 0) return datagrams;
    transmit_each(
        pmd::Burst(connected).first(n), link::Destinations(connections).first(n),
        [this](rte_mbuf& packet, const link::Destination& one) { return put_header(packet, one); }, Chains::any);
    return datagrams;
}

/// The IPoIB header alone: who sends the packet builds the others.
Counter* IpoibInterface::put_header(rte_mbuf& packet, const link::Destination& to) noexcept {
    auto* const at = rte_pktmbuf_prepend(&packet, IpoibHeader::size);
    if (at == nullptr) return &counters_.tx_dropped_no_room;
    std::memcpy(at, to.header.view().last<IpoibHeader::size>().data(), IpoibHeader::size);
    link::set_link_header(packet, IpoibHeader::size);
    return nullptr;
}

Counter* IpoibInterface::wrap(rte_mbuf& packet, const link::Destination& to) noexcept {
    if (!queue_pair_) return &counters_.tx_dropped_down;
    if (carries_datagrams()) return put_header(packet, to);
    // The CRCs run over the whole frame; a chain this small is rare, and copying it together costs less than two
    // passes.
    if (packet.nb_segs != 1 && rte_pktmbuf_linearize(&packet) != 0) return &counters_.tx_dropped_no_room;
    const bool filled = put_headers(packet, to) && transport::fill_datagram(packet, to, queue_pair_->next_psn());
    return filled ? nullptr : &counters_.tx_dropped_no_room;
}

/// A burst goes one way as a whole: to connections, or as datagrams.
void IpoibInterface::emit(pmd::Burst packets, link::Destinations to) noexcept {
    if (connections_ != nullptr && to.front()->connection != 0) [[unlikely]] {
        counters_.tx_packets.add(packets.size());
        return connections_->send(packets, to);
    }
    if (!carries_datagrams()) {
        for (std::size_t i = 0; i < packets.size(); ++i) transport::seal_datagram(*packets[i], *to[i]);
        return link::Interface::emit(packets, to);
    }
    std::array<pmd::Datagram, pmd::max_burst> datagrams;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        datagrams[i] = {packets[i], &to[i]->address, to[i]->qpn, to[i]->qkey};
    }
    const auto sent = device().send(queue(), std::span(datagrams).first(packets.size()));
    counters_.tx_packets.add(sent);
    counters_.tx_dropped_congested.add(packets.size() - sent);
    rte_pktmbuf_free_bulk(packets.data() + sent, static_cast<unsigned>(packets.size() - sent));
}

void IpoibInterface::counters(const CounterVisitor& visit) const {
    link::Interface::counters(visit);
    ipoib_counters_.each(visit);
    link_discards_.each(visit);
    ud_discards_.each(visit);
}

}  // namespace verbline::ipoib
