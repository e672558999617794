// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/ethernet_interface.h"

#include <algorithm>
#include <cstring>

#include <rte_mbuf.h>

#include "datapath/link/ip_gid.h"
#include "datapath/link/mbuf.h"
#include "datapath/link/transmit.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"

namespace verbline::link {

using wire::Ethernet;

namespace {

/// Compares in place: a copy of six bytes, read back as one word, would wait for the store buffer at every frame.
bool is_for(const wire::MacAddress& mac, const wire::View<Ethernet>& header) {
    const auto* const destination = header.bytes().data();
    return std::memcmp(destination, mac.bytes.data(), mac.bytes.size()) == 0 ||
           (*destination & std::byte{1}) != std::byte{0};  // multicast
}

}  // namespace

Destination ethernet_destination(wire::MacAddress from, wire::MacAddress to, wire::EtherType type) {
    Destination destination;
    Ethernet{.destination = to, .source = from, .type = type}.emit(
        destination.header.append(Ethernet::size).first<Ethernet::size>());
    return destination;
}

void set_ethernet_group(Destination& destination, const wire::Ipv6Address& group) {
    const auto mac = multicast_mac(Carrier::roce_v2_ipv6, gid_of(group));  // of any IPv6 packet
    std::ranges::copy(mac.bytes, destination.header.bytes.begin());
}

void EthernetInterface::receive(Reception& out) noexcept {
    out.ip_count = out.ipv6_count = out.punt_count = 0;
    std::array<rte_mbuf*, pmd::max_burst> frames;
    const auto received = poll_device(frames, out);
    for (auto* frame : received) accept(frame, out);
}

void EthernetInterface::accept(rte_mbuf* frame, Reception& out) noexcept {
    const auto discard = [&](Counter& why) {
        why.add();
        rte_pktmbuf_free(frame);
    };
    const auto header = wire::View<Ethernet>::over(offload::first_segment(*frame));
    if (!header) return discard(ethernet_counters_.rx_dropped_malformed);
    if (!mac_ || !is_for(*mac_, *header)) return discard(ethernet_counters_.rx_dropped_not_ours);
    const auto type = header->get<&Ethernet::type>();
    rte_pktmbuf_adj(frame, Ethernet::size);
    frame->l2_len = 0;
    if (type == wire::ether_type::ipv4) {
        counters_.rx_packets.add();
        counters_.rx_bytes.add(frame->pkt_len);
        out.ip[out.ip_count++] = frame;
    } else if (type == wire::ether_type::ipv6) {
        counters_.rx_packets.add();
        counters_.rx_bytes.add(frame->pkt_len);
        out.ipv6[out.ipv6_count++] = frame;
    } else if (type == wire::ether_type::arp) {
        counters_.rx_punted.add();
        out.punts[out.punt_count++] = {type, frame};
    } else {
        discard(counters_.rx_dropped_ethertype);
    }
}

void EthernetInterface::transmit(pmd::Burst packets, Destinations to) noexcept {
    transmit_each(packets, to, [this](rte_mbuf& packet, const Destination& destination) -> Counter* {
        if (!mac_) return &counters_.tx_dropped_down;
        if (!prepend(packet, destination.header)) return &counters_.tx_dropped_no_room;
        packet.l2_len = Ethernet::size;
        return nullptr;
    });
}

void EthernetInterface::counters(const CounterVisitor& visit) const {
    Interface::counters(visit);
    ethernet_counters_.each(visit);
}

}  // namespace verbline::link
