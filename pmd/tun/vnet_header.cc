// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/vnet_header.h"

#include <cstring>
#include <optional>

#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "pmd/rx_checksum.h"

namespace verbline::pmd {
namespace {

constexpr std::uint16_t tcp_checksum_at = 16, udp_checksum_at = 6;
constexpr unsigned max_l3_length = 511;  // the mbuf's field has 9 bits

/// The IP header in front of the checksummed part, as parsed from the packet.
struct NetworkHeader {
    std::uint32_t at;      ///< offset
    std::uint32_t length;  ///< up to where checksumming starts
    unsigned version;
    std::uint8_t protocol;
};

template <class Header>
Header* header_at(rte_mbuf& packet, std::uint32_t offset) {
    if (offset + sizeof(Header) > packet.data_len) return nullptr;
    return rte_pktmbuf_mtod_offset(&packet, Header*, offset);
}

/// Length of the Ethernet header, one VLAN tag included; none if the frame does not carry IP.
std::optional<std::uint32_t> ethernet_header_length(rte_mbuf& packet) {
    std::uint32_t length = sizeof(rte_ether_hdr);
    const auto* ethernet = header_at<rte_ether_hdr>(packet, 0);
    if (ethernet == nullptr) return std::nullopt;
    auto type = ethernet->ether_type;
    if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
        const auto* tag = header_at<rte_vlan_hdr>(packet, length);
        if (tag == nullptr) return std::nullopt;
        type = tag->eth_proto;
        length += sizeof(rte_vlan_hdr);
    }
    if (type != RTE_BE16(RTE_ETHER_TYPE_IPV4) && type != RTE_BE16(RTE_ETHER_TYPE_IPV6)) return std::nullopt;
    return length;
}

/// None for anything but IPv4 and IPv6 without extension headers.
std::optional<NetworkHeader> network_header(rte_mbuf& packet, Carries carries, std::uint32_t end) {
    const auto start = carries == Carries::ethernet ? ethernet_header_length(packet) : 0;
    if (!start) return std::nullopt;
    const auto at = *start;
    const auto* first = header_at<std::uint8_t>(packet, at);
    if (first == nullptr || end <= at || end - at > max_l3_length) return std::nullopt;
    const unsigned version = *first >> 4;
    if (version == 4) {
        const auto* ip = header_at<rte_ipv4_hdr>(packet, at);
        if (ip == nullptr || rte_ipv4_hdr_len(ip) < sizeof(*ip) || rte_ipv4_hdr_len(ip) != end - at)
            return std::nullopt;
        return NetworkHeader{at, end - at, 4, ip->next_proto_id};
    }
    const auto* ip = header_at<rte_ipv6_hdr>(packet, at);
    // With extension headers the protocol is not in this header, and `end` is nothing DPDK's flags could name.
    if (version != 6 || ip == nullptr || end - at != sizeof(*ip)) return std::nullopt;
    return NetworkHeader{at, end - at, 6, ip->proto};
}

/// Completes the checksum as the kernel would: the field already holds the pseudo-header's sum.
bool sum_now(const VnetHeader& header, rte_mbuf& packet) {
    std::uint16_t sum = 0;
    if (rte_raw_cksum_mbuf(&packet, header.csum_start, packet.pkt_len - header.csum_start, &sum) != 0) return false;
    sum = static_cast<std::uint16_t>(~sum);
    if (sum == 0) sum = 0xffff;  // zero means "no checksum" in UDP; elsewhere the two are equal
    std::memcpy(rte_pktmbuf_mtod_offset(&packet, void*, header.csum_start + header.csum_offset), &sum, sizeof(sum));
    return true;
}

std::uint16_t pseudo_header_sum(rte_mbuf& packet, std::uint8_t protocol) {
    // Flags 0: with a segmentation request these functions would leave the length out, which the kernel requires.
    if ((packet.ol_flags & RTE_MBUF_F_TX_IPV4) != 0) {
        return rte_ipv4_phdr_cksum(rte_pktmbuf_mtod_offset(&packet, rte_ipv4_hdr*, packet.l2_len), 0);
    }
    const auto* ip = rte_pktmbuf_mtod_offset(&packet, rte_ipv6_hdr*, packet.l2_len);
    auto bare = *ip;  // as if the extension headers were not there
    bare.proto = protocol;
    bare.payload_len = rte_cpu_to_be_16(
        static_cast<std::uint16_t>(rte_be_to_cpu_16(ip->payload_len) - (packet.l3_len - sizeof(rte_ipv6_hdr))));
    return rte_ipv6_phdr_cksum(&bare, 0);
}

}  // namespace

std::expected<void, VnetError> read_vnet_header(const VnetHeader& header, Carries carries, rte_mbuf& packet) {
    const auto gso = header.gso_type & ~VnetHeader::gso_ecn;
    if ((header.flags & VnetHeader::needs_csum) == 0) {
        if (gso != VnetHeader::gso_none) return std::unexpected(VnetError::segmentation);
        return {};
    }
    const std::uint32_t l4_at = header.csum_start;
    if (l4_at + header.csum_offset + sizeof(std::uint16_t) > packet.data_len)
        return std::unexpected(VnetError::offsets);

    const auto ip = network_header(packet, carries, l4_at);
    const auto* tcp = header_at<rte_tcp_hdr>(packet, l4_at);
    const bool is_tcp = ip && ip->protocol == IPPROTO_TCP && header.csum_offset == tcp_checksum_at && tcp != nullptr;
    const bool is_udp = ip && ip->protocol == IPPROTO_UDP && header.csum_offset == udp_checksum_at;
    if (!is_tcp && gso != VnetHeader::gso_none) return std::unexpected(VnetError::segmentation);
    if (!is_tcp && !is_udp) {
        if (!sum_now(header, packet)) return std::unexpected(VnetError::offsets);
        return {};
    }

    packet.l2_len = ip->at;
    packet.l3_len = ip->length;
    packet.l4_len = is_tcp ? (tcp->data_off >> 4) * 4u : sizeof(rte_udp_hdr);
    if (is_tcp && (packet.l4_len < sizeof(rte_tcp_hdr) || l4_at + packet.l4_len > packet.data_len)) {
        return std::unexpected(VnetError::offsets);
    }
    packet.ol_flags |= ip->version == 4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    packet.ol_flags |= is_tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
    if (gso == VnetHeader::gso_none) return {};

    const auto wanted = ip->version == 4 ? VnetHeader::gso_tcpv4 : VnetHeader::gso_tcpv6;
    if (gso != wanted || header.gso_size == 0) return std::unexpected(VnetError::segmentation);
    packet.tso_segsz = header.gso_size;
    packet.ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
    if (ip->version == 4) packet.ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;  // each segment has a length of its own
    return {};
}

std::expected<VnetHeader, VnetError> make_vnet_header(rte_mbuf& packet) {
    VnetHeader header{};
    const auto flags = packet.ol_flags;
    const bool segment = (flags & (RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG)) != 0;
    const auto l4 = flags & RTE_MBUF_F_TX_L4_MASK;
    const bool is_tcp = (flags & RTE_MBUF_F_TX_TCP_SEG) != 0 || l4 == RTE_MBUF_F_TX_TCP_CKSUM;
    const std::uint32_t l4_at = packet.l2_len + packet.l3_len;
    const bool ipv4 = (flags & RTE_MBUF_F_TX_IPV4) != 0;

    if ((flags & RTE_MBUF_F_TX_IP_CKSUM) != 0) {  // the kernel has no such offload to take
        if (packet.l3_len < sizeof(rte_ipv4_hdr) || l4_at > packet.data_len) return std::unexpected(VnetError::offsets);
        auto* ip = rte_pktmbuf_mtod_offset(&packet, rte_ipv4_hdr*, packet.l2_len);
        if (rte_ipv4_hdr_len(ip) != packet.l3_len) return std::unexpected(VnetError::offsets);
        ip->hdr_checksum = 0;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
    }
    if (!is_tcp && l4 != RTE_MBUF_F_TX_UDP_CKSUM) {
        if (l4_checksum_verified(packet)) header.flags = VnetHeader::data_valid;  // Linux's tun has ignored it so far
        return header;
    }

    const auto l3_minimum = ipv4 ? sizeof(rte_ipv4_hdr) : sizeof(rte_ipv6_hdr);
    const auto l4_minimum = is_tcp ? sizeof(rte_tcp_hdr) : sizeof(rte_udp_hdr);
    if (packet.l3_len < l3_minimum || l4_at + l4_minimum > packet.data_len) return std::unexpected(VnetError::offsets);
    const std::uint8_t protocol = is_tcp ? IPPROTO_TCP : IPPROTO_UDP;
    header.flags = VnetHeader::needs_csum;
    header.csum_start = static_cast<std::uint16_t>(l4_at);
    header.csum_offset = is_tcp ? tcp_checksum_at : udp_checksum_at;
    const auto seed = pseudo_header_sum(packet, protocol);
    std::memcpy(rte_pktmbuf_mtod_offset(&packet, void*, l4_at + header.csum_offset), &seed, sizeof(seed));
    if (!segment) return header;

    const std::uint32_t headers = l4_at + packet.l4_len;
    if (packet.l4_len < l4_minimum || headers > packet.data_len) return std::unexpected(VnetError::offsets);
    if (packet.tso_segsz == 0) return std::unexpected(VnetError::segmentation);
    if (packet.pkt_len <= headers + packet.tso_segsz) return header;  // one segment's worth: nothing to cut
    header.gso_type = !is_tcp ? VnetHeader::gso_udp : ipv4 ? VnetHeader::gso_tcpv4 : VnetHeader::gso_tcpv6;
    header.gso_size = packet.tso_segsz;
    header.hdr_len = static_cast<std::uint16_t>(headers);
    return header;
}

}  // namespace verbline::pmd
