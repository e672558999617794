// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IP packets inside IP packets: where the inner one begins.
///
///     IPv4 or IPv6 │ IPv4 or IPv6                                          IP in IP (RFC 2003, RFC 2473)
///     IPv4 or IPv6 │ GRE (key) │ (Ethernet) │ IPv4 or IPv6                 RFC 2784, RFC 2890
///     IPv4 or IPv6 │ UDP to 4789 │ VXLAN │ Ethernet │ IPv4 or IPv6         RFC 7348
///     IPv4 or IPv6 │ UDP to 6081 │ Geneve, options │ (Ethernet) │ IP       RFC 8926
///
/// Nothing is verified but what is needed to find the way. A function of its argument.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "datapath/wire/bytes.h"

namespace verbline::offload {

enum class TunnelKind : std::uint8_t { ip_in_ip, gre, vxlan, geneve };

struct Tunnel {
    TunnelKind kind{};
    std::size_t outer_size = 0;  ///< of the outer IP header, bytes
    std::size_t inner_at = 0;    ///< where the inner IP header begins
    bool numbered = false;       ///< GRE with sequence numbers: the order of all its packets counts
    bool summed = false;         ///< GRE with a checksum

    bool over_udp() const { return kind == TunnelKind::vxlan || kind == TunnelKind::geneve; }
};

/// Of a packet that begins at its IP header, of which `packet` holds the first bytes. None if there is no packet
/// inside, it is a fragment, or has extension headers. The inner header's first byte is there.
std::optional<Tunnel> tunnel_of(wire::Bytes packet);

}  // namespace verbline::offload
