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

    void transmit(const Packet& packet) {
        const auto flags = packet->ol_flags;
        const bool ipv6 = (flags & RTE_MBUF_F_TX_IPV6) != 0;
        const bool segments = (flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
        const bool ip_checksum = !ipv6 && (segments || (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0);
        const auto l4 = segments ? RTE_MBUF_F_TX_TCP_CKSUM : flags & RTE_MBUF_F_TX_L4_MASK;
        if (packet->nb_segs > 1) require(RTE_ETH_TX_OFFLOAD_MULTI_SEGS, "a chain");
        if (segments) require(RTE_ETH_TX_OFFLOAD_TCP_TSO, "segmentation");
        if (segments && packet->pkt_len - packet->l2_len > capabilities().max_tso) not_offered.emplace_back("max_tso");
        if (ip_checksum) require(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, "IP checksum");
        if (l4 == RTE_MBUF_F_TX_TCP_CKSUM) require(RTE_ETH_TX_OFFLOAD_TCP_CKSUM, "TCP checksum");
        if (l4 == RTE_MBUF_F_TX_UDP_CKSUM) require(RTE_ETH_TX_OFFLOAD_UDP_CKSUM, "UDP checksum");

        const auto bytes = bytes_of(packet);
        if (!ip_checksum && l4 == 0) return frames.push_back(bytes);
        const auto version = wire::load8(bytes, packet->l2_len) >> 4;
        if (version != (ipv6 ? 6 : 4)) return not_offered.push_back("work on what is not IP");
        for (auto& frame : segments ? cut(*packet, bytes) : std::vector<ByteVector>{bytes}) {
            const auto ip = std::span(frame).subspan(packet->l2_len);
            if (ip_checksum) fill(ip, 10, [&] { return naive_checksum(ip.first(packet->l3_len)); });
            const std::size_t field = packet->l3_len + (l4 == RTE_MBUF_F_TX_TCP_CKSUM ? 16U : 6U);
            if (l4 != 0) fill(ip, field, [&] { return naive_l4_checksum(ip, packet->l3_len); });
            frames.push_back(std::move(frame));
        }
    }

    template <class Compute>
    static void fill(wire::MutableBytes bytes, std::size_t field, Compute checksum) {
        wire::store16(bytes, field, 0);
        wire::store16(bytes, field, checksum());
    }

    /// TCP segments, lengths and sequence numbers right, checksums not yet.
    static std::vector<ByteVector> cut(const rte_mbuf& packet, const ByteVector& bytes) {
        const std::size_t headers = packet.l2_len + packet.l3_len + std::size_t{packet.l4_len};
        const std::size_t tcp = packet.l2_len + std::size_t{packet.l3_len};
        std::vector<ByteVector> segments;
        for (std::size_t at = headers; at < bytes.size(); at += packet.tso_segsz) {
            const auto payload =
                std::span(bytes).subspan(at, std::min<std::size_t>(packet.tso_segsz, bytes.size() - at));
            ByteVector frame(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(headers));
            frame.insert(frame.end(), payload.begin(), payload.end());
            const auto ip = std::span(frame).subspan(packet.l2_len);
            const bool ipv6 = (packet.ol_flags & RTE_MBUF_F_TX_IPV6) != 0;
            wire::store16(ip, ipv6 ? 4 : 2, static_cast<std::uint16_t>(ip.size() - (ipv6 ? 40 : 0)));
            const auto sequence = wire::load32(frame, tcp + 4) + static_cast<std::uint32_t>(at - headers);
            wire::store32(frame, tcp + 4, sequence);
            segments.push_back(std::move(frame));
        }
        return segments;
    }
};

}  // namespace verbline::test
