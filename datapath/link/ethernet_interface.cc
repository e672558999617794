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

Destination ethernet_destination(wire::MacAddress from, wire::MacAddress to, wire::EtherType type) {
    Destination destination;
    Ethernet{.destination = to, .source = from, .type = type}.emit(
        destination.header.append(Ethernet::size).first<Ethernet::size>());
    return destination;
}

void set_ethernet_group(Destination& destination, wire::Ipv4Address group) {
    const auto mac = multicast_mac(Carrier::roce_v2_ipv4, gid_of(group));  // of any IPv4 packet
    std::ranges::copy(mac.bytes, destination.header.bytes.begin());
}

void set_ethernet_group(Destination& destination, const wire::Ipv6Address& group) {
    const auto mac = multicast_mac(Carrier::roce_v2_ipv6, gid_of(group));  // of any IPv6 packet
    std::ranges::copy(mac.bytes, destination.header.bytes.begin());
}

/// Most of a burst is IP for us: that is passed over once, and counted as one.
void EthernetInterface::sort(pmd::Burst frames, Reception& out) noexcept {
    out.ip_count = out.ipv6_count = out.punt_count = 0;
    std::uint16_t ipv4 = 0, ipv6 = 0;
    std::uint64_t bytes = 0;
    for (auto* const frame : frames) {
        const auto version = ip_version_of(*frame);
        if (version == 0) [[unlikely]] {
            receive_other(frame, out);
            continue;
        }
        rte_pktmbuf_adj(frame, Ethernet::size);
        set_link_header(*frame, 0);
        bytes += frame->pkt_len;
        if (version == 4)
            out.ip[ipv4++] = frame;
        else
            out.ipv6[ipv6++] = frame;
    }
    out.ip_count = ipv4, out.ipv6_count = ipv6;
    counters_.rx_packets.add(std::uint64_t{ipv4} + ipv6);
    counters_.rx_bytes.add(bytes);
}

/// Compares in place: a copy of six bytes, read back as one word, would wait for the store buffer at every frame.
bool EthernetInterface::is_for_us(const rte_mbuf& frame) const noexcept {
    if (!mac_) return false;
    const auto* const destination = offload::first_segment(frame).data();
    return std::memcmp(destination, mac_->bytes.data(), mac_->bytes.size()) == 0 ||
           (*destination & std::byte{1}) != std::byte{0};  // multicast
}

unsigned EthernetInterface::ip_version_of(const rte_mbuf& frame) const noexcept {
    if (frame.data_len < Ethernet::size || !is_for_us(frame)) return 0;
    const auto type = offload::checked_header<Ethernet>(frame).get<&Ethernet::type>();
    return type == wire::ether_type::ipv4 ? 4 : type == wire::ether_type::ipv6 ? 6 : 0;
}

/// A frame that is malformed, another's, or no IP packet.
void EthernetInterface::receive_other(rte_mbuf* frame, Reception& out) noexcept {
    if (frame->data_len < Ethernet::size) return discard(frame, ethernet_counters_.rx_dropped_malformed);
    if (!is_for_us(*frame)) return discard(frame, ethernet_counters_.rx_dropped_not_ours);
    const auto type = offload::checked_header<Ethernet>(*frame).get<&Ethernet::type>();
    if (type != wire::ether_type::arp) return discard(frame, counters_.rx_dropped_ethertype);
    rte_pktmbuf_adj(frame, Ethernet::size);
    set_link_header(*frame, 0);
    counters_.rx_punted.add();
    out.punts[out.punt_count++] = {type, frame};
}

void EthernetInterface::discard(rte_mbuf* frame, Counter& why) noexcept {
    why.add();
    rte_pktmbuf_free(frame);
}

void EthernetInterface::transmit(pmd::Burst packets, Destinations to) noexcept {
    transmit_each(packets, to, [this](rte_mbuf& packet, const Destination& destination) -> Counter* {
        if (!mac_) return &counters_.tx_dropped_down;
        if (!prepend(packet, destination.header)) return &counters_.tx_dropped_no_room;
        set_link_header(packet, Ethernet::size);
        return nullptr;
    });
}

void EthernetInterface::counters(const CounterVisitor& visit) const {
    Interface::counters(visit);
    ethernet_counters_.each(visit);
}

}  // namespace verbline::link
