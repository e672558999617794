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
#include "datapath/wire/udp.h"
#include "datapath/wire/vxlan.h"
#include "tests/support/checksum.h"
#include "tests/support/packet.h"

namespace verbline::offload {

constexpr std::uint64_t all_tunnels = RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO |
                                      RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO | RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO;

/// An outer IPv4 header, and what is between it and the packet inside.
struct TunnelPacket {
    std::string name;
    TunnelKind kind{};
    wire::Ipv4 ip{.identification = 0xfffe, .source = wire::ipv4(10, 9, 0, 1), .destination = wire::ipv4(10, 9, 0, 2)};
    wire::Udp udp{.source_port = 50'000};
    bool summed = false;       ///< UDP has a checksum
    bool bridged = false;      ///< an Ethernet header is in front of the packet
    test::ByteVector headers;  ///< in front of that, behind IP and UDP

    bool over_udp() const { return kind == TunnelKind::vxlan || kind == TunnelKind::geneve; }

    test::ByteVector around(const test::ByteVector& packet) const {
        auto between = headers;
        const bool ipv6 = wire::load8(packet, 0) >> 4 == 6;
        if (bridged) {
            auto frame = test::bytes_from(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0);
            if (ipv6) wire::store16(frame, 12, 0x86dd);
            between.insert(between.end(), frame.begin(), frame.end());
        }
        const std::size_t front = wire::Ipv4::size + (over_udp() ? wire::Udp::size : 0);
        test::ByteVector whole(front);
        whole.insert(whole.end(), between.begin(), between.end());
        whole.insert(whole.end(), packet.begin(), packet.end());
        auto outer = ip;
        outer.total_length = static_cast<std::uint16_t>(whole.size());
        outer.protocol = over_udp()                ? wire::IpProtocol::udp
                         : kind == TunnelKind::gre ? wire::IpProtocol::gre
                         : ipv6                    ? wire::IpProtocol::ipv6
                                                   : wire::IpProtocol::ipv4;
        outer.with_checksum().emit(std::span(whole).first<20>());
        if (!over_udp()) return whole;
        auto header = udp;
        header.destination_port = kind == TunnelKind::vxlan ? wire::vxlan_port : wire::geneve_port;
        header.length = static_cast<std::uint16_t>(whole.size() - wire::Ipv4::size);
        header.emit(std::span(whole).subspan<20, 8>());
        if (summed) wire::store16(whole, 26, test::naive_l4_checksum(whole, 20));
        return whole;
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

}  // namespace verbline::offload
