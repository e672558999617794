// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IP packets put into tunnels as a sender does, with checksums computed in the plainest way.

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>

#include <rte_ethdev.h>

#include "datapath/offload/tunnel.h"
#include "datapath/wire/geneve.h"
#include "datapath/wire/gre.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/udp.h"
#include "datapath/wire/vxlan.h"
#include "tests/support/checksum.h"
#include "tests/support/packet.h"

namespace verbline::offload {

constexpr std::uint64_t all_tunnels = RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO |
                                      RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO | RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO;

/// An outer IP header, and what is between it and the packet inside.
struct TunnelPacket {
    std::string name;
    TunnelKind kind{};
    wire::Ipv4 ip{.identification = 0xfffe, .source = wire::ipv4(10, 9, 0, 1), .destination = wire::ipv4(10, 9, 0, 2)};
    bool over_ipv6 = false;  ///< the outer header is IPv6, with what `ip` says
    wire::Udp udp{.source_port = 50'000};
    bool summed = false;       ///< UDP has a checksum
    bool bridged = false;      ///< an Ethernet header is in front of the packet
    test::ByteVector headers;  ///< in front of that, behind IP and UDP

    bool over_udp() const { return kind == TunnelKind::vxlan || kind == TunnelKind::geneve; }
    /// Of the outer IP header.
    std::size_t ip_size() const { return over_ipv6 ? wire::Ipv6::size : wire::Ipv4::size; }

    test::ByteVector around(const test::ByteVector& packet) const {
        auto between = headers;
        const bool ipv6 = wire::load8(packet, 0) >> 4 == 6;
        if (bridged) {
            auto frame = test::bytes_from(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0);
            if (ipv6) wire::store16(frame, 12, 0x86dd);
            between.insert(between.end(), frame.begin(), frame.end());
        }
        test::ByteVector behind(over_udp() ? wire::Udp::size : 0);
        behind.insert(behind.end(), between.begin(), between.end());
        behind.insert(behind.end(), packet.begin(), packet.end());
        const auto protocol = over_udp()                ? wire::IpProtocol::udp
                              : kind == TunnelKind::gre ? wire::IpProtocol::gre
                              : ipv6                    ? wire::IpProtocol::ipv6
                                                        : wire::IpProtocol::ipv4;
        auto whole = over_ipv6 ? ipv6_header(protocol, behind.size()) : ipv4_header(protocol, behind.size());
        whole.insert(whole.end(), behind.begin(), behind.end());
        if (!over_udp()) return whole;
        const auto udp_at = whole.size() - behind.size();
        auto header = udp;
        header.destination_port = kind == TunnelKind::vxlan ? wire::vxlan_port : wire::geneve_port;
        header.length = static_cast<std::uint16_t>(behind.size());
        header.emit(std::span(whole).subspan(udp_at).first<wire::Udp::size>());
        if (summed) wire::store16(whole, udp_at + 6, test::naive_l4_checksum(whole, udp_at));
        return whole;
    }

    test::ByteVector ipv4_header(wire::IpProtocol protocol, std::size_t payload) const {
        auto outer = ip;
        outer.total_length = static_cast<std::uint16_t>(wire::Ipv4::size + payload);
        outer.protocol = protocol;
        test::ByteVector bytes(wire::Ipv4::size);
        outer.with_checksum().emit(std::span(bytes).first<wire::Ipv4::size>());
        return bytes;
    }
    /// With a fragment header if more fragments are to follow (RFC 8200, 4.5).
    test::ByteVector ipv6_header(wire::IpProtocol protocol, std::size_t payload) const {
        const std::size_t extension = ip.more_fragments ? 8 : 0;
        const auto address = [](wire::Ipv4Address host) {
            wire::Ipv6Address out;
            wire::store32(out.bytes, 0, 0x2001'0db8);
            wire::store32(out.bytes, 12, static_cast<std::uint32_t>(host));
            return out;
        };
        test::ByteVector bytes(wire::Ipv6::size + extension);
        wire::Ipv6{.dscp = ip.dscp,
                   .ecn = ip.ecn,
                   .payload_length = static_cast<std::uint16_t>(extension + payload),
                   .next_header = extension != 0 ? wire::IpProtocol::fragment : protocol,
                   .hop_limit = ip.time_to_live,
                   .source = address(ip.source),
                   .destination = address(ip.destination)}
            .emit(std::span(bytes).first<wire::Ipv6::size>());
        if (extension != 0) {
            bytes[wire::Ipv6::size] = static_cast<std::byte>(protocol);
            bytes[wire::Ipv6::size + 3] = std::byte{1};
        }
        return bytes;
    }

    friend std::ostream& operator<<(std::ostream& out, const TunnelPacket& tunnel) { return out << tunnel.name; }
};

template <class Header>
test::ByteVector emitted(const Header& header) {
    test::ByteVector bytes(Header::size);
    header.emit(std::span(bytes).template first<Header::size>());
    return bytes;
}

/// One of each kind that may be merged, for packets of `type`.
inline std::vector<TunnelPacket> tunnels(wire::EtherType type = wire::ether_type::ipv4) {
    auto key = emitted(wire::Gre{.has_key = true, .protocol = type});
    key.resize(8, std::byte{7});
    auto options = emitted(wire::Geneve{.option_words = 1, .protocol = type, .network = 9});
    options.resize(12, std::byte{7});
    const auto vxlan = emitted(wire::Vxlan{.network = 9});
    const auto geneve = emitted(wire::Geneve{.protocol = wire::bridged_ethernet, .network = 9});
    return {{.name = "IpInIp", .kind = TunnelKind::ip_in_ip},
            {.name = "Gre", .kind = TunnelKind::gre, .headers = emitted(wire::Gre{.protocol = type})},
            {.name = "GreKey", .kind = TunnelKind::gre, .headers = key},
            {.name = "GreBridged",
             .kind = TunnelKind::gre,
             .bridged = true,
             .headers = emitted(wire::Gre{.protocol = wire::bridged_ethernet})},
            {.name = "Vxlan", .kind = TunnelKind::vxlan, .bridged = true, .headers = vxlan},
            {.name = "VxlanSummed", .kind = TunnelKind::vxlan, .summed = true, .bridged = true, .headers = vxlan},
            {.name = "Geneve", .kind = TunnelKind::geneve, .bridged = true, .headers = geneve},
            {.name = "GeneveOptions", .kind = TunnelKind::geneve, .headers = options}};
}

/// The same over IPv4 and IPv6.
inline std::vector<TunnelPacket> tunnels_over_either(wire::EtherType type = wire::ether_type::ipv4) {
    auto both = tunnels(type);
    for (auto tunnel : tunnels(type)) {
        tunnel.name += "OverIpv6";
        tunnel.over_ipv6 = true;
        both.push_back(tunnel);
    }
    return both;
}

}  // namespace verbline::offload
