// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/packets.h"

#include <array>
#include <cerrno>
#include <span>

#include <rte_mbuf.h>

#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/offload/segmentation.h"
#include "datapath/traffic/frame_spec.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"
#include "pmd/append.h"

namespace verbline::ipoib_bench {
namespace {

using wire::Ipv4, wire::Tcp, wire::Udp;

/// Between the addresses and ports of a benchmark's usual flow; the payload is no constant, the checksums are missing.
std::vector<std::byte> unfinished_packet(std::uint32_t size, bool tcp) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8) * 13);
    const traffic::FrameSpec flow;
    const Ipv4 ip{.total_length = static_cast<std::uint16_t>(size),
                  .dont_fragment = true,
                  .protocol = tcp ? wire::IpProtocol::tcp : wire::IpProtocol::udp,
                  .source = flow.source_ipv4.first,
                  .destination = flow.destination_ipv4.first};
    const auto all = std::span(bytes);
    ip.emit(all.first<Ipv4::size>());
    const auto ports = std::array{flow.source_port.first, flow.destination_port.first};
    if (tcp)
        Tcp{.source_port = ports[0], .destination_port = ports[1], .flags = wire::tcp_flag::ack, .window = 0xffff}.emit(
            all.subspan<Ipv4::size, Tcp::size>());
    else
        Udp{.source_port = ports[0],
            .destination_port = ports[1],
            .length = static_cast<std::uint16_t>(size - Ipv4::size)}
            .emit(all.subspan<Ipv4::size, Udp::size>());
    return bytes;
}

std::vector<std::byte> copy_of(const rte_mbuf& packet) {
    const auto bytes = offload::first_segment(packet);
    return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<Packets> Packets::make(const Case& one, std::uint16_t mtu, rte_mempool& pool) {
    constexpr std::uint16_t headers = Ipv4::size + Tcp::size;
    Packets made;
    made.tcp_ = one.size > mtu, made.requests_ = one.requests;
    made.segment_size_ = static_cast<std::uint16_t>(mtu - headers);
    if (made.tcp_) made.frames_ = (one.size - headers + made.segment_size_ - 1) / made.segment_size_;
    made.pieces_.push_back(unfinished_packet(one.size, made.tcp_));
    if (!one.requests)
        if (auto good = made.complete(pool); !good) return std::unexpected(good.error());
    return made;
}

/// Does now what would be asked for: so a complete packet has the bytes that a finished one has.
Result<void> Packets::complete(rte_mempool& pool) {
    auto* const packet = make_packet(pieces_.front(), true, pool);
    if (packet == nullptr) return failure(ENOMEM, "no packet buffer is free");
    pieces_.clear();
    if (!tcp_) {
        offload::finish_checksums(*packet);
        pieces_.push_back(copy_of(*packet));
        rte_pktmbuf_free(packet);
        return {};
    }
    offload::Segmenter segmenter(packet, pool);
    std::array<rte_mbuf*, pmd::max_burst> segments;
    while (const auto count = segmenter.next(segments)) {
        for (const auto* const segment : pmd::Burst(segments).first(count)) pieces_.push_back(copy_of(*segment));
        rte_pktmbuf_free_bulk(segments.data(), count);
    }
    if (segmenter.done()) return {};
    return failure(ENOMEM, "no packet buffer is free");
}

rte_mbuf* Packets::make_packet(const Piece& bytes, bool requests, rte_mempool& pool) const {
    auto* const packet = rte_pktmbuf_alloc(&pool);
    if (packet == nullptr) return nullptr;
    auto* tail = packet;
    if (!pmd::append(*packet, tail, bytes, &pool)) {
        rte_pktmbuf_free(packet);
        return nullptr;
    }
    if (!requests) return packet;
    packet->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
    packet->ol_flags |= tcp_ ? RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
    packet->l2_len = 0, packet->l3_len = Ipv4::size, packet->l4_len = tcp_ ? Tcp::size : Udp::size;
    if (tcp_) packet->tso_segsz = segment_size_;
    return packet;
}

bool Packets::fill(pmd::Burst out, std::size_t first, rte_mempool& pool) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = make_packet(pieces_[(first + i) % pieces_.size()], requests_, pool);
        if (out[i] != nullptr) continue;
        rte_pktmbuf_free_bulk(out.data(), static_cast<unsigned>(i));
        return false;
    }
    return true;
}

}  // namespace verbline::ipoib_bench
