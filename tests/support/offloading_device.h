// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device that does exactly the TX offloads it offers, in the plainest way, and reports whatever else it is asked
/// for.
///
/// It works as hardware does: it goes by the mbuf's flags and lengths alone, and overwrites what it is told to.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rte_ethdev.h>

#include "datapath/wire/bytes.h"
#include "tests/support/checksum.h"
#include "tests/support/fake_netdev.h"

namespace verbline::test {

class OffloadingDevice : public FakeNetDevice {
public:
    OffloadingDevice(pmd::Carries carries, std::uint64_t tx_offloads, std::uint32_t max_tso) {
        capabilities() = {.carries = carries, .tx_offloads = tx_offloads, .max_tso = max_tso};
    }

    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        for (auto* packet : burst) transmit(Packet(packet));
        return static_cast<std::uint16_t>(burst.size());
    }
    std::uint16_t send(std::uint16_t, std::span<const pmd::Datagram> burst) noexcept override {
        for (const auto& datagram : burst) transmit(Packet(datagram.payload));
        return static_cast<std::uint16_t>(burst.size());
    }

    std::vector<ByteVector> frames;        ///< what left, byte for byte
    std::vector<std::string> not_offered;  ///< requests that the capabilities do not name, or that make no sense

private:
    void require(std::uint64_t offload, const char* what) {
        if ((capabilities().tx_offloads & offload) == 0) not_offered.emplace_back(what);
    }

    /// The offload that a tunnel's large packets take; 0 for no tunnel, or one that no device knows.
    static std::uint64_t tunnel_offload(std::uint64_t flags) {
        switch (flags & RTE_MBUF_F_TX_TUNNEL_MASK) {
            case RTE_MBUF_F_TX_TUNNEL_VXLAN: return RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO;
            case RTE_MBUF_F_TX_TUNNEL_GENEVE: return RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO;
            case RTE_MBUF_F_TX_TUNNEL_GRE: return RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO;
            case RTE_MBUF_F_TX_TUNNEL_IPIP: return RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO;
            default: return 0;
        }
    }

    void check_limits(const rte_mbuf& packet, bool segments) {
        const auto& limits = capabilities();
        const auto link_header = layout_of(packet).outer_at;
        if (packet.nb_segs > 1) require(RTE_ETH_TX_OFFLOAD_MULTI_SEGS, "a chain");
        if (packet.nb_segs > (segments ? limits.max_tso_segments : limits.max_segments)) {
            not_offered.emplace_back("a chain of so many");
        }
        if (!segments) return;
        if (packet.pkt_len - link_header > limits.max_tso) not_offered.emplace_back("max_tso");
        if (packet.tso_segsz < limits.min_tso_segment) not_offered.emplace_back("small segments");
    }

    /// Where the headers are that the flags are about: a tunnel's outer IP header, and the one in front of TCP or UDP.
    struct PacketLayout {
        bool tunnel = false;
        std::size_t outer_at = 0, ip_at = 0, l4_at = 0, end = 0;
    };
    static PacketLayout layout_of(const rte_mbuf& packet) {
        PacketLayout layout{.tunnel = (packet.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0};
        layout.outer_at = layout.tunnel ? packet.outer_l2_len : packet.l2_len;
        layout.ip_at = layout.outer_at + (layout.tunnel ? packet.outer_l3_len + packet.l2_len : 0);
        layout.l4_at = layout.ip_at + packet.l3_len;
        layout.end = layout.l4_at + packet.l4_len;
        return layout;
    }

    void transmit(const Packet& packet) {
        const auto flags = packet->ol_flags;
        const auto layout = layout_of(*packet);
        const bool ipv6 = (flags & RTE_MBUF_F_TX_IPV6) != 0;
        const bool segments = (flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
        const bool ip_checksum = !ipv6 && (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0;
        const auto l4 = flags & RTE_MBUF_F_TX_L4_MASK;
        check_limits(*packet, segments);
        if (segments && !layout.tunnel) require(RTE_ETH_TX_OFFLOAD_TCP_TSO, "segmentation");
        if (layout.tunnel) require(tunnel_offload(flags), "segmentation in this tunnel");
        if (ip_checksum) require(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, "IP checksum");
        if ((flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0) require(RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM, "outer IP");
        if ((flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0) require(RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM, "outer UDP");
        if (l4 == RTE_MBUF_F_TX_TCP_CKSUM) require(RTE_ETH_TX_OFFLOAD_TCP_CKSUM, "TCP checksum");
        if (l4 == RTE_MBUF_F_TX_UDP_CKSUM) require(RTE_ETH_TX_OFFLOAD_UDP_CKSUM, "UDP checksum");

        const auto bytes = bytes_of(packet);
        if (!ip_checksum && l4 == 0) return frames.push_back(bytes);
        if (wire::load8(bytes, layout.ip_at) >> 4 != (ipv6 ? 6 : 4)) {
            not_offered.emplace_back("work on what is not IP");
            return;
        }
        for (auto& frame : segments ? cut(*packet, bytes) : std::vector<ByteVector>{bytes}) {
            const auto ip = std::span(frame).subspan(layout.ip_at);
            if (ip_checksum) fill(ip, 10, [&] { return naive_checksum(ip.first(packet->l3_len)); });
            const std::size_t field = packet->l3_len + (l4 == RTE_MBUF_F_TX_TCP_CKSUM ? 16U : 6U);
            if (l4 != 0) fill(ip, field, [&] { return naive_l4_checksum(ip, packet->l3_len); });
            if (layout.tunnel) finish_outer(*packet, std::span(frame).subspan(layout.outer_at));
            frames.push_back(std::move(frame));
        }
    }

    /// Checksums of a tunnel's headers; UDP's last, as it is over all.
    static void finish_outer(const rte_mbuf& packet, wire::MutableBytes ip) {
        const std::size_t size = packet.outer_l3_len;
        if ((packet.ol_flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0) {
            fill(ip, 10, [&] { return naive_checksum(ip.first(size)); });
        }
        if ((packet.ol_flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0) {
            fill(ip, size + 6, [&] { return naive_l4_checksum(ip, size); });
        }
    }

    template <class Compute>
    static void fill(wire::MutableBytes bytes, std::size_t field, Compute checksum) {
        wire::store16(bytes, field, 0);
        wire::store16(bytes, field, checksum());
    }

    /// Makes an IP header, with its packet behind it, that of number `count` of those that were cut.
    static void number(wire::MutableBytes ip, std::size_t count) {
        const bool ipv6 = wire::load8(ip, 0) >> 4 == 6;
        wire::store16(ip, ipv6 ? 4 : 2, static_cast<std::uint16_t>(ip.size() - (ipv6 ? 40 : 0)));
        if (!ipv6) wire::store16(ip, 4, static_cast<std::uint16_t>(wire::load16(ip, 4) + count));
    }

    /// TCP segments, lengths, numbers and flags right, checksums not yet.
    static std::vector<ByteVector> cut(const rte_mbuf& packet, const ByteVector& bytes) {
        constexpr unsigned fin = 1, psh = 8, cwr = 0x80;
        const auto layout = layout_of(packet);
        const auto kind = packet.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK;
        const bool over_udp = kind == RTE_MBUF_F_TX_TUNNEL_VXLAN || kind == RTE_MBUF_F_TX_TUNNEL_GENEVE;
        std::vector<ByteVector> segments;
        for (std::size_t at = layout.end; at < bytes.size(); at += packet.tso_segsz) {
            const auto payload =
                std::span(bytes).subspan(at, std::min<std::size_t>(packet.tso_segsz, bytes.size() - at));
            ByteVector frame(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(layout.end));
            frame.insert(frame.end(), payload.begin(), payload.end());
            const auto whole = std::span(frame);
            number(whole.subspan(layout.ip_at), segments.size());
            if (layout.tunnel) number(whole.subspan(layout.outer_at), segments.size());
            if (over_udp) {
                const auto udp = whole.subspan(layout.outer_at + packet.outer_l3_len);
                wire::store16(udp, 4, static_cast<std::uint16_t>(udp.size()));
            }
            const auto sequence = wire::load32(frame, layout.l4_at + 4) + static_cast<std::uint32_t>(at - layout.end);
            wire::store32(frame, layout.l4_at + 4, sequence);
            unsigned flags = wire::load8(frame, layout.l4_at + 13);
            if (at != layout.end) flags &= ~cwr;
            if (at + packet.tso_segsz < bytes.size()) flags &= ~(fin | psh);
            wire::store8(frame, layout.l4_at + 13, static_cast<std::uint8_t>(flags));
            segments.push_back(std::move(frame));
        }
        return segments;
    }
};

}  // namespace verbline::test
