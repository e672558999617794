// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/gro.h"

#include <algorithm>
#include <cstring>

#include <rte_mbuf.h>

#include "datapath/offload/gro_flows.h"
#include "datapath/offload/gro_segment.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"

namespace verbline::offload {

using wire::Bytes;
using wire::Ipv4;
using wire::Ipv6;
using wire::Tcp;
using wire::Udp;

namespace {

constexpr std::uint64_t large_requests = RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;

/// Packets of one flow that are being merged: a chain that begins with the first one's headers.
class Flow {
public:
    bool open() const { return head_ != nullptr; }
    /// Flows inside tunnels are told by what is inside alone: what is around it may change.
    bool is(const Segment& segment) const {
        return open() && flow_ == segment.flow && (ip_at_ == 0) == (segment.ip_at == 0);
    }

    void begin(rte_mbuf& packet, const Segment& segment, bool verified) {
        head_ = &packet;
        tail_ = rte_pktmbuf_lastseg(&packet);
        flow_ = segment.flow;
        ip_at_ = segment.ip_at;
        outer_size_ = segment.outer_size;
        outer_udp_ = segment.outer_udp;
        tunnel_flag_ = segment.tunnel_flag;
        headers_size_ = segment.headers_size;
        segment_size_ = segment.payload_size;
        next_sequence_ = segment.sequence + segment.payload_size;
        ids_ = {.last = segment.identification};
        outer_ids_ = {.last = segment.outer_identification};
        count_ = 1;
        verified_ = verified;
    }

    /// Whether the segment continues the flow, by its headers.
    bool continued_by(const rte_mbuf& packet, const Segment& segment) const {
        if (segment.sequence != next_sequence_ || segment.payload_size > segment_size_) return false;
        if (head_->pkt_len + segment.payload_size > max_packet) return false;
        if (segment.ip_at != ip_at_ || segment.tunnel_flag != tunnel_flag_ || segment.outer_size != outer_size_) {
            return false;
        }
        const auto ours = first_segment(std::as_const(*head_)), theirs = first_segment(packet);
        if (ip_at_ != 0 && !same_tunnel(segment, ours, theirs)) return false;
        const auto equal = [&](std::size_t from, std::size_t to) { return equal_bytes(ours, theirs, from, to); };
        const auto tcp = tcp_at();
        return same_ip(segment, ours, theirs) && equal(tcp + 8, tcp + 13) &&  // acknowledgement, header size, reserved
               equal(tcp + 14, tcp + 16) &&                                   // window
               equal(tcp + 18, headers_size_);                                // urgent pointer, options
    }

    bool verify() { return verified_ = verified_ || intact(*head_, ip_at_); }

    /// Appends the payload of a segment that continues the flow.
    void append(rte_mbuf& packet, const Segment& segment) {
        ids_.take(segment.identification);
        outer_ids_.take(segment.outer_identification);
        rte_pktmbuf_adj(&packet, segment.headers_size);
        head_->nb_segs = static_cast<std::uint16_t>(head_->nb_segs + packet.nb_segs);
        head_->pkt_len += packet.pkt_len;
        tail_->next = &packet;
        tail_ = rte_pktmbuf_lastseg(&packet);
        next_sequence_ += segment.payload_size;
        ++count_;
        if (segment.push) {
            const auto tcp = wire::View<Tcp, std::byte>::over(first_segment(*head_).subspan(tcp_at()));
            tcp->set<&Tcp::flags>(wire::tcp_flag::ack | wire::tcp_flag::psh);
        }
        if (segment.push || segment.payload_size < segment_size_) close();
    }

    /// Nothing more is appended: completes the headers of what was merged.
    void close() {
        if (open() && count_ > 1) {
            lengthen_ip(first_segment(*head_).subspan(ip_at_), head_->pkt_len - ip_at_);
            head_->l2_len = 0;
            head_->l3_len = flow_.ip_size();
            head_->l4_len = static_cast<std::uint16_t>(headers_size_ - tcp_at());
            head_->tso_segsz = segment_size_;
            head_->ol_flags |= large_requests | (flow_.ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
            if (ip_at_ != 0) close_tunnel();
        }
        head_ = nullptr;
    }

private:
    /// Identifications of an IP header.
    struct Identifications {
        std::uint16_t last = 0, step = 0;

        /// `ip` is the first packet's header, and `count` packets have been taken.
        bool continued_by(std::uint16_t next, std::uint16_t count, Bytes ip) const {
            const auto now = static_cast<std::uint16_t>(next - last);
            if (count > 1) return now == step;
            return now == 1 || (now == 0 && wire::View<Ipv4>::over(ip)->get<&Ipv4::dont_fragment>());
        }
        void take(std::uint16_t next) {
            step = static_cast<std::uint16_t>(next - last);
            last = next;
        }
    };

    static bool equal_bytes(Bytes ours, Bytes theirs, std::size_t from, std::size_t to) {
        return std::memcmp(ours.data() + from, theirs.data() + from, to - from) == 0;
    }

    std::size_t tcp_at() const { return std::size_t{ip_at_} + flow_.ip_size(); }

    /// Whether the IP header in front of TCP's is the same but for its lengths and what segmentation counts up.
    bool same_ip(const Segment& segment, Bytes ours, Bytes theirs) const {
        const auto equal = [&](std::size_t from, std::size_t to) {
            return equal_bytes(ours, theirs, ip_at_ + from, ip_at_ + to);
        };
        if (flow_.ipv6) return equal(0, 4) && equal(6, 8);  // version, traffic class, flow label; hop limit
        return ids_.continued_by(segment.identification, count_, ours.subspan(ip_at_)) && equal(0, 2) &&
               equal(6, 10);  // version, TOS; DF, TTL, protocol
    }

    /// Whether a tunnel's own IP header is the same, likewise.
    bool same_outer_ip(const Segment& segment, Bytes ours, Bytes theirs) const {
        const auto equal = [&](std::size_t from, std::size_t to) { return equal_bytes(ours, theirs, from, to); };
        if (outer_is_ipv6()) return equal(0, 4) && equal(6, Ipv6::size);
        return outer_ids_.continued_by(segment.outer_identification, count_, ours) && equal(0, 2) && equal(6, 10) &&
               equal(12, Ipv4::size);
    }

    /// Whether everything in front of the inner IP header is the same, or is made anew by segmentation.
    bool same_tunnel(const Segment& segment, Bytes ours, Bytes theirs) const {
        const auto equal = [&](std::size_t from, std::size_t to) { return equal_bytes(ours, theirs, from, to); };
        if (!same_outer_ip(segment, ours, theirs)) return false;
        if (!outer_udp_) return equal(outer_size_, ip_at_);
        const std::size_t udp = outer_size_, ports = udp + 4;
        return equal(udp, ports) && has_udp_checksum(ours) == has_udp_checksum(theirs) &&
               equal(udp + Udp::size, ip_at_);
    }

    bool outer_is_ipv6() const { return outer_size_ == Ipv6::size; }  // neither header has options

    bool has_udp_checksum(Bytes packet) const {
        return wire::View<Udp>::over(packet.subspan(outer_size_))->get<&Udp::checksum>() != 0;
    }

    void close_tunnel() {
        const auto bytes = first_segment(*head_);
        lengthen_ip(bytes, head_->pkt_len);
        head_->outer_l2_len = 0;
        head_->outer_l3_len = outer_size_;
        head_->l2_len = (ip_at_ - outer_size_) & 0x7f;
        head_->ol_flags |= tunnel_flag_;
        head_->ol_flags |=
            outer_is_ipv6() ? RTE_MBUF_F_TX_OUTER_IPV6 : RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IP_CKSUM;
        if (!outer_udp_) return;
        if (has_udp_checksum(bytes)) head_->ol_flags |= RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
        wire::View<Udp, std::byte>::over(bytes.subspan(outer_size_))
            ->set<&Udp::length>(static_cast<std::uint16_t>(head_->pkt_len - outer_size_));
    }

    rte_mbuf* head_ = nullptr;
    rte_mbuf* tail_ = nullptr;
    FlowKey flow_;
    std::uint32_t next_sequence_ = 0;
    std::uint16_t headers_size_ = 0, segment_size_ = 0;
    Identifications ids_, outer_ids_;
    std::uint16_t count_ = 0;
    std::uint16_t ip_at_ = 0, outer_size_ = 0;  ///< as in Segment
    bool outer_udp_ = false;
    std::uint64_t tunnel_flag_ = 0;
    bool verified_ = false;
};

}  // namespace

std::uint16_t coalesce(pmd::Burst packets, std::uint64_t tunnels) {
    const auto first =
        std::ranges::find_if(packets, [tunnels](const rte_mbuf* packet) { return worth_a_look(*packet, tunnels); });
    auto kept = static_cast<std::uint16_t>(first - packets.begin());
    if (first == packets.end()) return kept;
    Flows<Flow> flows;  // half a kilobyte to clear: not for bursts of other packets
    for (auto* packet : packets.subspan(kept)) {
        if (!flows.take(*packet, classify(*packet, tunnels))) packets[kept++] = packet;
    }
    flows.close_all();
    return kept;
}

}  // namespace verbline::offload
