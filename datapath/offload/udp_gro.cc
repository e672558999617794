// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/udp_gro.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/offload/gro_flows.h"
#include "datapath/offload/gro_segment.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/udp.h"

namespace verbline::offload {

using wire::Bytes;
using wire::Ipv4;
using wire::Udp;

namespace {

/// Datagrams of one flow that are being merged: a chain that begins with the first one's headers.
class DatagramFlow {
public:
    bool is(const Segment& segment) const { return open() && flow_ == segment.flow; }

    void begin(rte_mbuf& packet, const Segment& segment, bool verified) {
        head_ = tail_ = &packet;
        flow_ = segment.flow;
        headers_size_ = segment.headers_size;
        size_ = segment.payload_size;
        identification_ = segment.identification;
        verified_ = verified;
    }

    /// Whether the datagram continues the flow, by its headers.
    bool continued_by(const rte_mbuf& packet, const Segment& segment) const {
        if (segment.payload_size > size_ || head_->pkt_len + segment.payload_size > max_packet) return false;
        const auto ours = first_segment(std::as_const(*head_)), theirs = first_segment(packet);
        const auto equal = [&](std::size_t from, std::size_t to) {
            return std::memcmp(ours.data() + from, theirs.data() + from, to - from) == 0;
        };
        if (flow_.ipv6) return equal(0, 4) && equal(6, 8);  // version, traffic class, flow label; hop limit
        const bool next = static_cast<std::uint16_t>(segment.identification - identification_) == 1;
        return (next || wire::View<Ipv4>::over(ours)->get<&Ipv4::dont_fragment>()) && equal(0, 2) &&
               equal(6, 10);  // version, TOS; DF, TTL, protocol
    }

    bool verify() { return verified_ = verified_ || intact(*head_, 0); }

    /// Appends the payload of a datagram that continues the flow.
    void append(rte_mbuf& packet, const Segment& segment) {
        identification_ = segment.identification;
        rte_pktmbuf_adj(&packet, headers_size_);
        ++head_->nb_segs;
        head_->pkt_len += packet.pkt_len;
        tail_->next = &packet;
        tail_ = &packet;
        if (segment.payload_size < size_) close();
    }

    /// Nothing more is appended: completes the headers of what was merged.
    void close() {
        if (open() && head_ != tail_) {
            const auto bytes = first_segment(*head_);
            const auto ip_size = flow_.ip_size();
            lengthen_ip(bytes, head_->pkt_len);
            wire::View<Udp, std::byte>::over(bytes.subspan(ip_size))
                ->set<&Udp::length>(static_cast<std::uint16_t>(head_->pkt_len - ip_size));
            head_->l2_len = 0;
            head_->l3_len = ip_size;
            head_->l4_len = Udp::size;
            head_->tso_segsz = size_;
            head_->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_UDP_SEG |
                               (flow_.ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
        }
        head_ = nullptr;
    }

private:
    bool open() const { return head_ != nullptr; }

    rte_mbuf* head_ = nullptr;
    rte_mbuf* tail_ = nullptr;
    FlowKey flow_;
    std::uint16_t headers_size_ = 0, size_ = 0, identification_ = 0;
    bool verified_ = false;
};

}  // namespace

std::uint16_t coalesce_datagrams(pmd::Burst packets) {
    const auto first = std::ranges::find_if(packets, [](const rte_mbuf* packet) { return may_be_datagram(*packet); });
    auto kept = static_cast<std::uint16_t>(first - packets.begin());
    if (packets.size() - kept < 2) return static_cast<std::uint16_t>(packets.size());
    Flows<DatagramFlow> flows;  // to clear: not for bursts of other packets
    for (auto* packet : packets.subspan(kept))
        if (!flows.take(*packet, classify_datagram(*packet))) packets[kept++] = packet;
    flows.close_all();
    return kept;
}

}  // namespace verbline::offload
