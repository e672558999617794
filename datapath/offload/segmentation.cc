// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/segmentation.h"

#include <algorithm>
#include <cstring>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"
#include "pmd/allocate.h"

namespace verbline::offload {

using wire::Ipv4;
using wire::Ipv6;
using wire::Tcp;
using wire::Udp;

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

bool in_tunnel(const rte_mbuf& packet) {
    return (packet.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0;
}

/// Where the IP header is that the packet's other requests are about.
std::uint32_t inner_at(const rte_mbuf& packet) {
    return in_tunnel(packet) ? static_cast<std::uint32_t>(packet.outer_l3_len + packet.l2_len) : 0;
}

}  // namespace

std::uint32_t headers_of(const rte_mbuf& packet) {
    return inner_at(packet) + packet.l3_len + packet.l4_len;
}

void limit_segments(rte_mbuf& packet, std::uint32_t mtu) {
    const auto headers = headers_of(packet);
    if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0 || mtu <= headers) return;
    packet.tso_segsz = static_cast<std::uint16_t>(std::min<std::uint32_t>(packet.tso_segsz, mtu - headers));
}

Segmenter::Segmenter(rte_mbuf* packet, rte_mempool& pool)
    : packet_(packet), pool_(pool), payload_(*packet, std::min(packet->pkt_len, headers_of(*packet))) {
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
    const auto size = headers_of(*packet_);
    if (size > bytes.size() || size > max_headers || packet_->l4_len < Tcp::size) return false;
    headers_size_ = static_cast<std::uint16_t>(size);
    ip_at_ = static_cast<std::uint16_t>(inner_at(*packet_));
    tcp_at_ = static_cast<std::uint16_t>(ip_at_ + packet_->l3_len);

    const auto headers = wire::MutableBytes(headers_).first(headers_size_);
    std::ranges::copy(bytes.first(headers_size_), headers.begin());
    const auto ip = headers.subspan(ip_at_, packet_->l3_len);
    if (!ip_.take(ip) || (in_tunnel(*packet_) && !read_outer(headers))) return false;
    const auto tcp = view<Tcp>(headers.subspan(tcp_at_));
    sequence_ = tcp.get<&Tcp::sequence>();
    flags_ = tcp.get<&Tcp::flags>();
    tcp.set<&Tcp::sequence>(0);
    tcp.set<&Tcp::flags>(0);
    tcp.set<&Tcp::checksum>(0);
    tcp_sum_ = pseudo_header(ip, wire::IpProtocol::tcp, 0).add(headers.subspan(tcp_at_));
    return true;
}

bool Segmenter::read_outer(wire::MutableBytes headers) {
    const auto kind = packet_->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK;
    outer_udp_ = kind == RTE_MBUF_F_TX_TUNNEL_VXLAN || kind == RTE_MBUF_F_TX_TUNNEL_GENEVE;
    outer_size_ = packet_->outer_l3_len;
    if (!outer_.take(headers.first(outer_size_)) || outer_size_ == 0) return false;
    return !outer_udp_ || packet_->l2_len >= Udp::size;
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
    ip_.write(bytes.subspan(ip_at_, std::size_t{tcp_at_} - ip_at_), bytes.size() - ip_at_, count_);
    write_tcp(bytes.subspan(tcp_at_), payload, sum);
    if (outer_size_ != 0) [[unlikely]]
        write_outer(bytes);
    ++count_;
}

bool Segmenter::IpHeader::take(wire::MutableBytes bytes) {
    ipv6_ = !bytes.empty() && wire::load8(bytes, 0) >> 4 == 6;
    if (bytes.size() < (ipv6_ ? Ipv6::size : Ipv4::size)) return false;
    if (ipv6_) {
        view<Ipv6>(bytes).set<&Ipv6::payload_length>(0);
        return true;
    }
    const auto v4 = view<Ipv4>(bytes);
    identification_ = v4.get<&Ipv4::identification>();
    v4.set<&Ipv4::identification>(0);
    v4.set<&Ipv4::total_length>(0);
    v4.set<&Ipv4::checksum>(0);
    sum_.add(bytes);
    return true;
}

void Segmenter::IpHeader::write(wire::MutableBytes bytes, std::size_t size, std::uint32_t count) const {
    const auto length = static_cast<std::uint16_t>(size);
    if (ipv6_) return view<Ipv6>(bytes).set<&Ipv6::payload_length>(static_cast<std::uint16_t>(length - Ipv6::size));
    const auto v4 = view<Ipv4>(bytes);
    const auto identification = static_cast<std::uint16_t>(identification_ + count);
    v4.set<&Ipv4::total_length>(length);
    v4.set<&Ipv4::identification>(identification);
    v4.set<&Ipv4::checksum>(Sum(sum_).add16(length).add16(identification).checksum());
}

void Segmenter::write_tcp(wire::MutableBytes tcp, std::uint32_t payload, Sum sum) const {
    auto flags = flags_;
    if (count_ > 0) flags &= static_cast<std::uint8_t>(~wire::tcp_flag::cwr);
    if (count_ + 1 < total_) flags &= static_cast<std::uint8_t>(~(wire::tcp_flag::fin | wire::tcp_flag::psh));
    const auto sequence = sequence_ + count_ * segment_size_;
    const auto header = view<Tcp>(tcp);
    header.set<&Tcp::sequence>(sequence);
    header.set<&Tcp::flags>(flags);
    const auto length = headers_size_ - tcp_at_ + payload;
    header.set<&Tcp::checksum>(sum.add32(sequence).add16(flags).add32(length).checksum());
}

/// The headers around a tunnel's packet, which is complete. A second pass over it for the outer checksum, if it was
/// asked for: most tunnels have none (RFC 7348, 5; RFC 8926, 3.3).
void Segmenter::write_outer(wire::MutableBytes segment) const {
    outer_.write(segment.first(outer_size_), segment.size(), count_);
    if (!outer_udp_) return;
    const auto datagram = segment.subspan(outer_size_);
    const auto udp = view<Udp>(datagram);
    udp.set<&Udp::length>(static_cast<std::uint16_t>(datagram.size()));
    udp.set<&Udp::checksum>(0);
    if ((packet_->ol_flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) == 0) return;
    const auto length = static_cast<std::uint32_t>(datagram.size());
    const auto checksum =
        pseudo_header(segment.first(outer_size_), wire::IpProtocol::udp, length).add(datagram).checksum();
    udp.set<&Udp::checksum>(checksum == 0 ? 0xffff : checksum);
}

}  // namespace verbline::offload
