// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/interface.h"

#include <algorithm>

#include <rte_mbuf.h>

#include "datapath/link/mbuf.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"

namespace verbline::ipoib {
namespace soft_ib = link::soft_ib;

using wire::IpoibHeader;

link::Destination destination(const Identity& from, const wire::AddressHandle& to, wire::Qpn qpn,
                              wire::EtherType type) {
    link::Destination out{.address = to, .qpn = qpn, .qkey = from.qkey};
    out.header = soft_ib::ud_header({.lid = from.lid, .gid = from.gid, .qpn = from.qpn, .pkey = from.pkey}, out);
    IpoibHeader{.type = type}.emit(out.header.append(IpoibHeader::size).first<IpoibHeader::size>());
    return out;
}

void Interface::set_port(const std::optional<Identity>& port) {
    queue_pair_.reset();
    if (port) queue_pair_.emplace(transport::UdQueuePair::Attributes{port->lid, port->qpn, port->pkey, port->qkey});
}

void Interface::attach(wire::Lid mlid) {
    if (queue_pair_) queue_pair_->attach(mlid);
}

void Interface::detach(wire::Lid mlid) {
    if (queue_pair_) queue_pair_->detach(mlid);
}

void Interface::receive(link::Reception& out) noexcept {
    out.ip_count = out.punt_count = 0;
    std::array<rte_mbuf*, pmd::max_burst> frames;
    const auto received = poll_device(frames);
    out.idle = received.empty();
    for (auto* frame : received) {
        if (auto* const reason = unwrap(*frame)) {
            reason->add();
            rte_pktmbuf_free(frame);
        } else {
            accept(frame, out);
        }
    }
}

Counter* Interface::unwrap(rte_mbuf& frame) noexcept {
    if (!queue_pair_) return &ipoib_counters_.rx_dropped_down;
    if (carries_datagrams()) return nullptr;  // hardware checked all of this
    if (frame.nb_segs != 1) return &ipoib_counters_.rx_dropped_not_contiguous;
    const auto packet = soft_ib::parse(offload::first_segment(frame));
    if (!packet) return &link_discards_[packet.error()];
    if (const auto admitted = queue_pair_->admit(*packet); !admitted) return &ud_discards_[admitted.error()];
    frame.data_off = static_cast<std::uint16_t>(frame.data_off + packet->payload_offset);
    frame.data_len = packet->payload_size;
    frame.pkt_len = packet->payload_size;
    frame.ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);  // not of the packet inside
    return nullptr;
}

void Interface::accept(rte_mbuf* payload, link::Reception& out) noexcept {
    const auto discard = [&](Counter& why) {
        why.add();
        rte_pktmbuf_free(payload);
    };
    const auto header = IpoibHeader::parse(offload::first_segment(*payload));
    if (!header) return discard(ipoib_counters_.rx_dropped_short);
    rte_pktmbuf_adj(payload, IpoibHeader::size);
    if (header->type == wire::ether_type::ipv4) {
        counters_.rx_packets.add();
        counters_.rx_bytes.add(payload->pkt_len);
        out.ip[out.ip_count++] = payload;
    } else if (header->type == wire::ether_type::arp) {
        counters_.rx_punted.add();
        out.punts[out.punt_count++] = {header->type, payload};
    } else {
        discard(counters_.rx_dropped_ethertype);
    }
}

std::uint16_t Interface::encapsulate(pmd::Burst packets, const link::Destination& to) noexcept {
    std::uint16_t kept = 0;
    for (auto* packet : packets) {
        if (auto* const reason = wrap(*packet, to)) {
            reason->add();
            rte_pktmbuf_free(packet);
        } else {
            packets[kept++] = packet;
        }
    }
    return kept;
}

Counter* Interface::wrap(rte_mbuf& packet, const link::Destination& to) noexcept {
    if (!queue_pair_) return &counters_.tx_dropped_down;
    if (carries_datagrams()) {
        link::Header ipoib_header;
        std::ranges::copy(to.header.view().last<IpoibHeader::size>(), ipoib_header.append(IpoibHeader::size).begin());
        if (!link::prepend(packet, ipoib_header)) return &counters_.tx_dropped_no_room;
        packet.l2_len = IpoibHeader::size;
        return nullptr;
    }
    // The CRCs run over the whole frame; a chain this small is rare, and copying it together costs less than two
    // passes.
    if (packet.nb_segs != 1 && rte_pktmbuf_linearize(&packet) != 0) return &counters_.tx_dropped_no_room;
    const bool sealed = link::prepend(packet, to.header) && soft_ib::finish(packet, queue_pair_->next_psn());
    return sealed ? nullptr : &counters_.tx_dropped_no_room;
}

void Interface::emit(pmd::Burst packets, const link::Destination& to) noexcept {
    if (!carries_datagrams()) return link::Interface::emit(packets, to);
    std::array<pmd::Datagram, pmd::max_burst> datagrams;
    for (std::size_t i = 0; i < packets.size(); ++i) datagrams[i] = {packets[i], &to.address, to.qpn, to.qkey};
    const auto sent = device().send(queue(), std::span(datagrams).first(packets.size()));
    counters_.tx_packets.add(sent);
    counters_.tx_dropped_congested.add(packets.size() - sent);
    rte_pktmbuf_free_bulk(packets.data() + sent, static_cast<unsigned>(packets.size() - sent));
}

void Interface::counters(const CounterVisitor& visit) const {
    link::Interface::counters(visit);
    ipoib_counters_.each(visit);
    link_discards_.each(visit);
    ud_discards_.each(visit);
}

}  // namespace verbline::ipoib
