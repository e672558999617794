// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/segmentation.h"

#include <algorithm>
#include <cstring>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "pmd/allocate.h"

namespace verbline::offload {

using wire::Ipv4;
using wire::Ipv6;
using wire::Tcp;

namespace {

template <class Header>
auto view(wire::MutableBytes bytes) {
    return *wire::View<Header, std::byte>::over(bytes);  // read_headers has seen that it is there
}

std::uint32_t payload_room(rte_mempool& pool, std::uint32_t headers) {
    const std::uint32_t used = RTE_PKTMBUF_HEADROOM + headers + segment_tailroom;
    const std::uint32_t room = rte_pktmbuf_data_room_size(&pool);
    return room > used ? room - used : 0;
}

}  // namespace

void limit_segments(rte_mbuf& packet, std::uint32_t mtu) {
    const std::uint32_t headers = packet.l3_len + packet.l4_len;
    if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0 || mtu <= headers) return;
    packet.tso_segsz = static_cast<std::uint16_t>(std::min<std::uint32_t>(packet.tso_segsz, mtu - headers));
}

Segmenter::Segmenter(rte_mbuf* packet, rte_mempool& pool)
    : packet_(packet),
      pool_(pool),
      payload_(*packet, std::min<std::uint32_t>(packet->pkt_len, packet->l3_len + packet->l4_len)) {
    if (!read_headers()) return;
    segment_size_ = std::min<std::uint32_t>(packet->tso_segsz, payload_room(pool, headers_size_));
    if (segment_size_ == 0) return;
    payload_size_ = packet->pkt_len - headers_size_;
    total_ = std::max(1u, (payload_size_ + segment_size_ - 1) / segment_size_);
}

Segmenter::~Segmenter() {
    rte_pktmbuf_free(packet_);
}

bool Segmenter::read_headers() {
    const auto bytes = first_segment(std::as_const(*packet_));
    ip_size_ = static_cast<std::uint16_t>(packet_->l3_len);
    headers_size_ = static_cast<std::uint16_t>(packet_->l3_len + packet_->l4_len);
    ipv6_ = !bytes.empty() && wire::load8(bytes, 0) >> 4 == 6;
    if (ip_size_ < (ipv6_ ? Ipv6::size : Ipv4::size) || packet_->l4_len < Tcp::size) return false;
    if (headers_size_ > bytes.size() || headers_size_ > max_headers) return false;

    const auto headers = wire::MutableBytes(headers_).first(headers_size_);
    std::ranges::copy(bytes.first(headers_size_), headers.begin());
    const auto ip = headers.first(ip_size_);
    if (ipv6_) {
        view<Ipv6>(ip).set<&Ipv6::payload_length>(0);
    } else {
        const auto v4 = view<Ipv4>(ip);
        identification_ = v4.get<&Ipv4::identification>();
        v4.set<&Ipv4::identification>(0);
        v4.set<&Ipv4::total_length>(0);
        v4.set<&Ipv4::checksum>(0);
        ip_sum_.add(ip);
    }
    const auto tcp = view<Tcp>(headers.subspan(ip_size_));
    sequence_ = tcp.get<&Tcp::sequence>();
    flags_ = tcp.get<&Tcp::flags>();
    tcp.set<&Tcp::sequence>(0);
    tcp.set<&Tcp::flags>(0);
    tcp.set<&Tcp::checksum>(0);
    tcp_sum_ = pseudo_header(ip, wire::IpProtocol::tcp, 0).add(headers.subspan(ip_size_));
    return true;
}

std::uint16_t Segmenter::next(pmd::Burst out) {
    const auto n = pmd::allocate(pool_, out.first(std::min<std::size_t>(out.size(), remaining())));
    for (auto* segment : out.first(n)) fill(*segment);
    return static_cast<std::uint16_t>(n);
}

void Segmenter::fill(rte_mbuf& segment) {
    auto left = std::min(segment_size_, payload_size_ - count_ * segment_size_);
    const auto payload = left;
    segment.data_len = static_cast<std::uint16_t>(headers_size_ + payload);
    segment.pkt_len = segment.data_len;
    segment.port = packet_->port;
    segment.hash = packet_->hash;
    segment.ol_flags = packet_->ol_flags & RTE_MBUF_F_RX_RSS_HASH;

    const auto bytes = first_segment(segment);
    std::memcpy(bytes.data(), headers_.data(), headers_size_);
    auto sum = tcp_sum_;
    for (auto* to = bytes.data() + headers_size_; left > 0;) {
        const auto piece = payload_.next(left);
        sum.add_copying(to, piece);
        to += piece.size();
        left -= static_cast<std::uint32_t>(piece.size());
    }
    write_ip(bytes.first(ip_size_), payload);
    write_tcp(bytes.subspan(ip_size_), payload, sum);
    ++count_;
}

void Segmenter::write_ip(wire::MutableBytes ip, std::uint32_t payload) const {
    const auto length = static_cast<std::uint16_t>(headers_size_ + payload);
    if (ipv6_) return view<Ipv6>(ip).set<&Ipv6::payload_length>(static_cast<std::uint16_t>(length - Ipv6::size));
    const auto v4 = view<Ipv4>(ip);
    const auto identification = static_cast<std::uint16_t>(identification_ + count_);
    v4.set<&Ipv4::total_length>(length);
    v4.set<&Ipv4::identification>(identification);
    v4.set<&Ipv4::checksum>(Sum(ip_sum_).add16(length).add16(identification).checksum());
}

void Segmenter::write_tcp(wire::MutableBytes tcp, std::uint32_t payload, Sum sum) const {
    auto flags = flags_;
    if (count_ > 0) flags &= static_cast<std::uint8_t>(~wire::tcp_flag::cwr);
    if (count_ + 1 < total_) flags &= static_cast<std::uint8_t>(~(wire::tcp_flag::fin | wire::tcp_flag::psh));
    const auto sequence = sequence_ + count_ * segment_size_;
    const auto header = view<Tcp>(tcp);
    header.set<&Tcp::sequence>(sequence);
    header.set<&Tcp::flags>(flags);
    const auto length = headers_size_ - ip_size_ + payload;
    header.set<&Tcp::checksum>(sum.add32(sequence).add16(flags).add32(length).checksum());
}

}  // namespace verbline::offload
