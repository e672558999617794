// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/gro.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <rte_mbuf.h>

#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/tcp.h"

namespace verbline::offload {

using wire::Bytes;
using wire::Ipv4;
using wire::Tcp;

namespace {

constexpr std::uint32_t max_packet = 0xffff;  ///< IPv4's total length
constexpr std::uint64_t large_requests = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
constexpr std::uint64_t unfinished = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM;

/// How a packet relates to the flows that are being merged.
enum class Role : std::uint8_t {
    unrelated,  ///< not TCP over IPv4
    unclear,    ///< TCP, of whichever flow: a fragment, or not understood
    alone,      ///< of a known flow, but like no other packet of it
    mergeable,
};

struct Segment {
    Role role = Role::unrelated;
    std::uint16_t headers_size = 0;
    std::uint16_t payload_size = 0;
    std::uint16_t identification = 0;
    std::uint32_t sequence = 0;
    bool push = false;
    std::array<std::byte, 12> flow{};  ///< addresses and ports, as in the packet
};

bool is_tcp(const rte_mbuf& packet) {
    const auto bytes = first_segment(packet);
    const auto ip = wire::View<Ipv4>::over(bytes);
    return ip && wire::load8(bytes, 0) >> 4 == 4 && ip->get<&Ipv4::protocol>() == wire::IpProtocol::tcp;
}

Segment classify(const rte_mbuf& packet) {
    if (!is_tcp(packet)) return {};
    const auto bytes = first_segment(packet);
    const auto ip = wire::View<Ipv4>::over(bytes);
    const auto tcp = wire::View<Tcp>::over(bytes.subspan(Ipv4::size));
    const bool fragment = ip->get<&Ipv4::more_fragments>() || ip->get<&Ipv4::fragment_offset>() != 0;
    if (!tcp || ip->get<&Ipv4::header_words>() != Ipv4::size / 4 || fragment) return {.role = Role::unclear};

    Segment segment{.role = Role::alone};
    std::memcpy(segment.flow.data(), bytes.data() + 12, segment.flow.size());
    const std::uint32_t headers_size = Ipv4::size + tcp->get<&Tcp::header_words>() * 4u;
    const auto flags = tcp->get<&Tcp::flags>();
    const bool whole = ip->get<&Ipv4::total_length>() == packet.pkt_len;
    const bool data = headers_size >= Ipv4::size + Tcp::size && headers_size < packet.data_len;
    const bool plain = (flags | wire::tcp_flag::psh) == (wire::tcp_flag::psh | wire::tcp_flag::ack);
    if (!whole || !data || !plain || (packet.ol_flags & unfinished) != 0) return segment;

    segment.role = Role::mergeable;
    segment.headers_size = static_cast<std::uint16_t>(headers_size);
    segment.payload_size = static_cast<std::uint16_t>(packet.pkt_len - headers_size);
    segment.identification = ip->get<&Ipv4::identification>();
    segment.sequence = tcp->get<&Tcp::sequence>();
    segment.push = (flags & wire::tcp_flag::psh) != 0;
    return segment;
}

/// The device's word for it, or our own sum. `packet` is whole and without IP options.
bool intact(const rte_mbuf& packet) {
    const auto flags = packet.ol_flags;
    const bool ip_good = (flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD ||
                         Sum{}.add(first_segment(packet).first(Ipv4::size)).verifies();
    if (!ip_good) return false;
    if ((flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD) return true;
    return verify_l4(packet) == L4Verdict::good;
}

/// Packets of one flow that are being merged: a chain that begins with the first one's headers.
class Flow {
public:
    bool open() const { return head_ != nullptr; }
    bool is(const Segment& segment) const { return open() && flow_ == segment.flow; }

    void begin(rte_mbuf& packet, const Segment& segment, bool verified) {
        head_ = &packet;
        tail_ = rte_pktmbuf_lastseg(&packet);
        flow_ = segment.flow;
        headers_size_ = segment.headers_size;
        segment_size_ = segment.payload_size;
        next_sequence_ = segment.sequence + segment.payload_size;
        last_identification_ = segment.identification;
        count_ = 1;
        verified_ = verified;
    }

    /// Whether the segment continues the flow, by its headers.
    bool continued_by(const rte_mbuf& packet, const Segment& segment) const {
        if (segment.sequence != next_sequence_ || segment.payload_size > segment_size_) return false;
        if (head_->pkt_len + segment.payload_size > max_packet) return false;
        const auto step = static_cast<std::uint16_t>(segment.identification - last_identification_);
        const auto ours = first_segment(std::as_const(*head_)), theirs = first_segment(packet);
        const auto equal = [&](std::size_t from, std::size_t to) {
            return std::memcmp(ours.data() + from, theirs.data() + from, to - from) == 0;
        };
        if (count_ == 1) {
            const bool atomic = wire::View<Ipv4>::over(ours)->get<&Ipv4::dont_fragment>();
            if (step != 1 && !(step == 0 && atomic)) return false;
        } else if (step != step_) {
            return false;
        }
        constexpr auto tcp = Ipv4::size;
        return equal(0, 2) && equal(6, 10) &&   // version, TOS; DF, TTL, protocol
               equal(tcp + 8, tcp + 13) &&      // acknowledgement, header size, reserved bits
               equal(tcp + 14, tcp + 16) &&     // window
               equal(tcp + 18, headers_size_);  // urgent pointer, options
    }

    bool verify() { return verified_ = verified_ || intact(*head_); }

    /// Appends the payload of a segment that continues the flow.
    void append(rte_mbuf& packet, const Segment& segment) {
        if (count_ == 1) step_ = static_cast<std::uint16_t>(segment.identification - last_identification_);
        rte_pktmbuf_adj(&packet, segment.headers_size);
        head_->nb_segs = static_cast<std::uint16_t>(head_->nb_segs + packet.nb_segs);
        head_->pkt_len += packet.pkt_len;
        tail_->next = &packet;
        tail_ = rte_pktmbuf_lastseg(&packet);
        next_sequence_ += segment.payload_size;
        last_identification_ = segment.identification;
        ++count_;
        if (segment.push) {
            const auto tcp = wire::View<Tcp, std::byte>::over(first_segment(*head_).subspan(Ipv4::size));
            tcp->set<&Tcp::flags>(wire::tcp_flag::ack | wire::tcp_flag::psh);
        }
        if (segment.push || segment.payload_size < segment_size_) close();
    }

    /// Nothing more is appended: completes the headers of what was merged.
    void close() {
        if (open() && count_ > 1) {
            const auto ip = *wire::View<Ipv4, std::byte>::over(first_segment(*head_));
            const auto before = ip.get<&Ipv4::total_length>();
            const auto length = static_cast<std::uint16_t>(head_->pkt_len);
            ip.set<&Ipv4::total_length>(length);
            ip.set<&Ipv4::checksum>(wire::updated_checksum(ip.get<&Ipv4::checksum>(), before, length));
            head_->l2_len = 0;
            head_->l3_len = Ipv4::size;
            head_->l4_len = static_cast<std::uint16_t>(headers_size_ - Ipv4::size);
            head_->tso_segsz = segment_size_;
            head_->ol_flags |= large_requests;
        }
        head_ = nullptr;
    }

private:
    rte_mbuf* head_ = nullptr;
    rte_mbuf* tail_ = nullptr;
    std::array<std::byte, 12> flow_{};
    std::uint32_t next_sequence_ = 0;
    std::uint16_t headers_size_ = 0, segment_size_ = 0;
    std::uint16_t last_identification_ = 0, step_ = 0;
    std::uint16_t count_ = 0;
    bool verified_ = false;
};

/// The flows of one burst. When there are more than fit, one makes room: its packets are merged a little less.
class Flows {
public:
    /// True if the packet is now part of another.
    bool take(rte_mbuf& packet) {
        const auto segment = classify(packet);
        if (segment.role == Role::unrelated) return false;
        if (segment.role == Role::unclear) {
            close_all();
            return false;
        }
        auto* const flow = find(segment);
        bool verified = false;
        if (flow != nullptr) {
            if (segment.role == Role::mergeable && flow->continued_by(packet, segment) && flow->verify()) {
                verified = intact(packet);
                if (verified) {
                    flow->append(packet, segment);
                    return true;
                }
            }
            flow->close();
        }
        const bool can_grow = segment.role == Role::mergeable && !segment.push;
        if (can_grow) room(flow).begin(packet, segment, verified);
        return false;
    }

    void close_all() {
        for (auto& flow : flows_) flow.close();
    }

private:
    Flow* find(const Segment& segment) {
        const auto flow = std::ranges::find_if(flows_, [&](const Flow& f) { return f.is(segment); });
        return flow != flows_.end() ? &*flow : nullptr;
    }
    Flow& room(Flow* closed) {
        if (closed != nullptr) return *closed;
        auto& flow = flows_[next_++ % flows_.size()];
        flow.close();
        return flow;
    }

    std::array<Flow, 8> flows_;
    unsigned next_ = 0;
};

}  // namespace

std::uint16_t coalesce(pmd::Burst packets) {
    const auto first = std::ranges::find_if(packets, [](const rte_mbuf* packet) { return is_tcp(*packet); });
    auto kept = static_cast<std::uint16_t>(first - packets.begin());
    if (first == packets.end()) return kept;
    Flows flows;  // half a kilobyte to clear: not for bursts of other packets
    for (auto* packet : packets.subspan(kept)) {
        if (!flows.take(*packet)) packets[kept++] = packet;
    }
    flows.close_all();
    return kept;
}

}  // namespace verbline::offload
