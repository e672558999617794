// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A burst of anything through GRO and out again through segmentation and checksums: no packet and no byte is lost.

#include <array>
#include <span>

#include "datapath/offload/checksum.h"
#include "datapath/offload/gro.h"
#include "datapath/offload/segmentation.h"
#include "datapath/offload/udp_gro.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

struct Total {
    std::size_t packets = 0, bytes = 0;
    bool operator==(const Total&) const = default;
    void add(const rte_mbuf& packet) {
        fuzz::expect_sound(&packet);
        ++packets;
        bytes += packet.pkt_len;
    }
};

/// The datagrams that a kernel makes of this packet.
void deliver(rte_mbuf* packet, Total& delivered) {
    fuzz::expect_sound(packet);
    const std::size_t headers = packet->l3_len + packet->l4_len;
    expect(packet->nb_segs > 1 && packet->tso_segsz > 0 && packet->pkt_len > headers);
    const auto payload = packet->pkt_len - headers, datagrams = (payload + packet->tso_segsz - 1) / packet->tso_segsz;
    expect(datagrams == packet->nb_segs);
    delivered.packets += datagrams;
    delivered.bytes += payload + datagrams * headers;
    rte_pktmbuf_free(packet);
}

/// The packets on the wire that this one stands for.
void send(rte_mbuf* packet, Total& sent) {
    if ((packet->ol_flags & RTE_MBUF_F_TX_UDP_SEG) != 0) return deliver(packet, sent);
    if ((packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) {
        sent.add(*packet);
        offload::verify_l4(*packet);
        packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
        packet->l3_len = 20;
        offload::finish_checksums(*packet);
        rte_pktmbuf_free(packet);
        return;
    }
    offload::Segmenter segmenter(packet, *fuzz::packet_pool());
    expect(segmenter.valid());
    std::array<rte_mbuf*, pmd::max_burst> segments;
    while (const auto n = segmenter.next(segments)) {
        for (auto* segment : std::span(segments).first(n)) {
            sent.add(*segment);
            rte_pktmbuf_free(segment);
        }
    }
    expect(segmenter.done());
}

/// A segmentation request that may be nonsense: it is refused, or carried out.
void segment_anything(fuzz::Input input) {
    const auto l3 = input.byte(), l4 = input.byte(), size = input.byte(), piece = input.byte();
    const auto kind = input.byte(), outer = input.byte(), between = input.byte();
    auto* const packet = fuzz::make_packet(input.take(5000), piece + 1u);
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    packet->l3_len = l3, packet->l4_len = l4, packet->tso_segsz = size;
    constexpr std::array<std::uint64_t, 5> tunnels{0, RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_UDP_CKSUM,
                                                   RTE_MBUF_F_TX_TUNNEL_GENEVE, RTE_MBUF_F_TX_TUNNEL_GRE,
                                                   RTE_MBUF_F_TX_TUNNEL_IPIP};
    packet->ol_flags |= tunnels[kind % tunnels.size()];
    packet->outer_l3_len = outer, packet->l2_len = between % 128;
    const auto headers = offload::headers_of(*packet);
    offload::Segmenter segmenter(packet, *fuzz::packet_pool());
    std::array<rte_mbuf*, pmd::max_burst> segments;
    std::size_t payload = 0;
    while (const auto n = segmenter.next(segments)) {
        for (auto* segment : std::span(segments).first(n)) {
            fuzz::expect_sound(segment);
            payload += segment->pkt_len - headers;
            rte_pktmbuf_free(segment);
        }
    }
    expect(!segmenter.valid() || payload == packet->pkt_len - headers);
}

void run(fuzz::Input input) {
    segment_anything(input);
    std::array<rte_mbuf*, pmd::max_burst> burst;
    Total received, sent;
    std::size_t n = 0;
    while (!input.empty() && n < burst.size()) {
        const auto control = input.byte();
        burst[n] = fuzz::make_packet(input.take(control % 128), control % 2 == 0 ? 2304 : 50);
        // Else hardly any input would have checksums that let it through.
        if (control < 240) burst[n]->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
        received.add(*burst[n++]);
    }
    const auto kept = offload::coalesce(std::span(burst).first(n), n % 2 == 0 ? 0 : ~std::uint64_t{0});
    const auto left = offload::coalesce_datagrams(std::span(burst).first(kept));
    expect(kept <= n && left <= kept);
    for (auto* packet : std::span(burst).first(left)) {
        fuzz::expect_sound(packet);
        send(packet, sent);
    }
    expect(sent == received);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return verbline::fuzz::run_with_packets(verbline::run, data, size);
}
