// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Neighbour solicitations and advertisements as whole IPv6 packets, from the IPv6 header on: on Ethernet with MAC
/// addresses in their option (RFC 4861, 4.6.1), on IPoIB with queue pair and GID (RFC 4391, 9.3).
///
/// Functions of their arguments; LinkAddress is MacAddress or IpoibAddress.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/wire/bytes.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

/// Whether a host can have this address: not zero, multicast, loopback or broadcast.
bool is_host(const wire::Gid& gid);
/// Whether an interface can have this address.
bool is_host(const wire::MacAddress& mac);
bool is_host(const wire::IpoibAddress& address);

/// The solicited-node multicast address of an IPv6 address (RFC 4291, 2.7.1).
wire::Gid solicited_node(const wire::Gid& gid);
constexpr wire::Gid all_nodes = wire::Gid::of(0xff02'0000'0000'0000, wire::Guid{1});

/// Classification of a frame by its available bytes.
enum class FrameKind : std::uint8_t { other, resolution, malformed };

template <class LinkAddress>
struct Discovery {
    bool asks = false;                 ///< a solicitation; else an advertisement
    std::optional<wire::Gid> speaker;  ///< solicitation: its source, none for a probe; advertisement: its target
    std::optional<LinkAddress> at;     ///< link-layer address of `speaker`; none: not given
    wire::Gid subject{};               ///< the address solicited, or the advertisement's destination (zero: all nodes)
    bool solicited = false;            ///< an advertisement in reply to a solicitation
    bool overrides = true;             ///< may replace a known link-layer address (override flag)
    bool operator==(const Discovery&) const = default;
};

template <class LinkAddress>
struct DiscoveryRead {
    FrameKind kind = FrameKind::other;
    Discovery<LinkAddress> message{};  ///< of `resolution`
};

/// Parses an NS or NA and validates it (RFC 4861, 7.1.1 and 7.1.2); other IPv6 packets are `other`.
template <class LinkAddress>
DiscoveryRead<LinkAddress> read_discovery(wire::Bytes packet);

/// Largest size of such a message, in bytes.
template <class LinkAddress>
constexpr std::size_t discovery_size =
    wire::Ipv6::size + wire::NeighbourMessage::size + wire::NdLinkAddress<LinkAddress>::size;

/// Writes `message` with its checksum and the option with the link-layer address `own`, which is omitted if the source
/// is unspecified (RFC 4861, 4.3). Returns the length in bytes.
template <class LinkAddress>
std::size_t write_discovery(std::span<std::byte, discovery_size<LinkAddress>> out, const LinkAddress& own,
                            const wire::Gid& source, const wire::Gid& destination, wire::NeighbourMessage message);

}  // namespace verbline::neighbour
