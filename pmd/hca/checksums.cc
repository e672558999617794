// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/checksums.h"

#include <cstddef>
#include <cstdint>

#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_tcp.h>
#include <rte_udp.h>

namespace verbline::pmd::hca {

bool ud_does_checksums(std::string_view driver, bool ethernet) {
    return driver == "mlx4_core" && !ethernet;
}

bool seed_checksums(rte_mbuf& datagram) {
    const auto l4 = datagram.ol_flags & RTE_MBUF_F_TX_L4_MASK;
    const std::uint32_t l4_at = datagram.l2_len + datagram.l3_len;
    const bool tcp = l4 == RTE_MBUF_F_TX_TCP_CKSUM;
    const auto l4_size = tcp ? sizeof(rte_tcp_hdr) : l4 == RTE_MBUF_F_TX_UDP_CKSUM ? sizeof(rte_udp_hdr) : 0;
    if (datagram.data_len < l4_at + l4_size) return false;
    // Of segments the adapter makes them for either family, and wants a sum without the length.
    const bool segmented = (datagram.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    if (segmented || (datagram.ol_flags & RTE_MBUF_F_TX_IPV6) == 0) return rte_net_intel_cksum_prepare(&datagram) == 0;
    if (l4_size == 0) return false;

    // Not rte_ipv6_phdr_cksum, which takes no account of extension headers.
    const auto* const ip = rte_pktmbuf_mtod_offset(&datagram, const rte_ipv6_hdr*, datagram.l2_len);
    const auto protocol = static_cast<std::uint16_t>(tcp ? IPPROTO_TCP : IPPROTO_UDP);
    const auto length = static_cast<std::uint16_t>(datagram.pkt_len - l4_at);
    std::uint32_t pseudo = rte_raw_cksum(ip->src_addr, sizeof ip->src_addr + sizeof ip->dst_addr);
    pseudo += rte_cpu_to_be_16(length);
    pseudo += rte_cpu_to_be_16(protocol);

    const auto field_at = l4_at + (tcp ? offsetof(rte_tcp_hdr, cksum) : offsetof(rte_udp_hdr, dgram_cksum));
    auto* const field = rte_pktmbuf_mtod_offset(&datagram, unaligned_uint16_t*, field_at);
    *field = __rte_raw_cksum_reduce(pseudo);
    std::uint16_t sum = 0;
    if (rte_raw_cksum_mbuf(&datagram, l4_at, length, &sum) != 0) return false;
    const auto value = static_cast<std::uint16_t>(~sum);
    *field = !tcp && value == 0 ? 0xffff : value;  // 0 says that there is none (RFC 8200, 8.1)
    datagram.ol_flags &= ~(RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK);
    return true;
}

}  // namespace verbline::pmd::hca
