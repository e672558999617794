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

/// Whether a single host can have this address: not zero, a group, loopback, or broadcast.
bool is_host(const wire::Gid& gid);
/// Whether a single interface can.
bool is_host(const wire::MacAddress& mac);
bool is_host(const wire::IpoibAddress& address);

/// The group in which the owner of an IPv6 address is asked for (RFC 4291, 2.7.1).
wire::Gid solicited_node(const wire::Gid& gid);
constexpr wire::Gid all_nodes = wire::Gid::of(0xff02'0000'0000'0000, wire::Guid{1});

/// What a frame is, by the bytes that are at hand.
enum class FrameKind : std::uint8_t { other, resolution, malformed };

template <class LinkAddress>
struct Discovery {
    bool asks = false;                 ///< a solicitation; else an advertisement
    std::optional<wire::Gid> speaker;  ///< solicitation: its source, none for a probe; advertisement: its target
    std::optional<LinkAddress> at;     ///< where `speaker` is; none: not said
    wire::Gid subject{};               ///< who is asked for, or who is told (zero: everybody)
    bool solicited = false;            ///< an advertisement that answers a question
    bool overrides = true;             ///< what was believed before
    bool operator==(const Discovery&) const = default;
};

template <class LinkAddress>
struct DiscoveryRead {
    FrameKind kind = FrameKind::other;
    Discovery<LinkAddress> message{};  ///< of `resolution`
};

/// IPv6 other than NS and NA is `other`. Checked as RFC 4861, 7.1.1 and 7.1.2 say.
template <class LinkAddress>
DiscoveryRead<LinkAddress> read_discovery(wire::Bytes packet);

/// Room that any of them needs, in bytes.
template <class LinkAddress>
constexpr std::size_t discovery_size =
    wire::Ipv6::size + wire::NeighbourMessage::size + wire::NdLinkAddress<LinkAddress>::size;

/// Writes `message` with its checksum, and the option that says where we are, unless the source is unspecified (RFC
/// 4861, 4.3). Returns its length in bytes.
template <class LinkAddress>
std::size_t write_discovery(std::span<std::byte, discovery_size<LinkAddress>> out, const LinkAddress& own,
                            const wire::Gid& source, const wire::Gid& destination, wire::NeighbourMessage message);

}  // namespace verbline::neighbour
