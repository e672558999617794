// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/router_context.h"

#include <algorithm>
#include <array>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/offload/gro.h"
#include "datapath/offload/segmentation.h"
#include "datapath/offload/udp_gro.h"

namespace verbline::router {

std::uint32_t RouterContext::flow_hash(rte_mbuf& packet) const {
    rte_mbuf* const one = &packet;
    std::uint32_t hash = 0;
    if (flows != nullptr) flows->hash(pmd::Carries::ip, {&one, 1}, {&hash, 1});
    return hash;
}

std::size_t RouterContext::coalesce(pmd::Burst packets, std::uint64_t of_tunnels) {
    const std::size_t left = offload::coalesce(packets, of_tunnels);
    counters.rx_coalesced.add(packets.size() - left);
    return left;
}

/// The kernel takes no large packets of tunnels: they are cut first.
void RouterContext::to_kernel(ShardPort& port, pmd::Burst packets) {
    const auto of_tunnel = [](const rte_mbuf* packet) { return (packet->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0; };
    while (!packets.empty()) {
        const auto plain = static_cast<std::size_t>(std::ranges::find_if(packets, of_tunnel) - packets.begin());
        if (plain > 0) give_kernel(port, packets.first(plain));
        if (plain == packets.size()) return;
        cut_for_kernel(port, packets[plain]);
        packets = packets.subspan(plain + 1);
    }
}

void RouterContext::cut_for_kernel(ShardPort& port, rte_mbuf* packet) {
    offload::Segmenter segmenter(packet, pool);
    std::array<rte_mbuf*, pmd::max_burst> segments;
    while (const auto n = segmenter.next(segments)) give_kernel(port, pmd::Burst(segments).first(n));
    counters.dropped_no_mbuf.add(segmenter.remaining());
}

void RouterContext::give_kernel(ShardPort& port, pmd::Burst packets) {
    if ((port.kernel_capabilities.tx_offloads & RTE_ETH_TX_OFFLOAD_UDP_TSO) != 0) {
        const std::size_t left = offload::coalesce_datagrams(packets);
        counters.rx_coalesced_datagrams.add(packets.size() - left);
        packets = packets.first(left);
    }
    const auto taken = port.kernel.tx_burst(port.link().queue(), packets);
    counters.to_kernel_packets.add(taken);
    for (auto* packet : packets.subspan(taken)) discard(packet, counters.dropped_kernel_full);
}

void RouterContext::discard(rte_mbuf* packet, Counter& why) {
    why.add();
    rte_pktmbuf_free(packet);
}

}  // namespace verbline::router
