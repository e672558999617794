// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ARP and Neighbour Discovery in one form: a request for an address, or a statement of its owner.
///
///     ARP request   `speaker` at `at` requests `subject`       RFC 826; from 0.0.0.0 a probe (RFC 5227, 2.1)
///     ARP reply     `speaker` is at `at`                       RFC 826
///     NS            as a request; source address and option    RFC 4861, 4.3; from :: a probe (RFC 4862, 5.4)
///     NA            as a reply; target address and option      RFC 4861, 4.4
///
/// Functions of their arguments. Frames are whole, from the Ethernet header on.

#include <array>
#include <cstddef>
#include <optional>

#include "datapath/neighbour/discovery.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

enum class Family : std::uint8_t { ipv4, ipv6 };

/// IPv4 for mapped addresses (::ffff:a.b.c.d), else IPv6.
Family family_of(const wire::Gid& gid);

struct Message {
    bool asks = false;                   ///< a request; else a statement about `speaker`
    std::optional<wire::Gid> speaker;    ///< none: a probe, whose sender has no address yet
    std::optional<wire::MacAddress> at;  ///< link-layer address of `speaker`; none: not given
    wire::Gid subject{};                 ///< the address requested, or the destination of a statement (zero: all)
    wire::MacAddress sender{};           ///< of the frame
    bool solicited = false;              ///< a statement in reply to a request
    bool overrides = true;               ///< may replace a known MAC address (override flag)
    bool operator==(const Message&) const = default;
};

struct Read {
    FrameKind kind = FrameKind::other;
    Message message{};  ///< of `resolution`
};

/// Parses a frame. Anything but ARP, NS and NA is `other`.
Read read_message(wire::Bytes frame);

/// A frame to send.
struct Frame {
    static constexpr std::size_t capacity = 86;  ///< an NS or NA with its option

    std::array<std::byte, capacity> bytes{};
    std::size_t size = 0;

    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
};

/// Builds a request for `subject`. `from` is a local address of its family; none: a probe. Multicast or broadcast, or
/// unicast to `to` if given.
Frame make_request(const wire::MacAddress& own, const std::optional<wire::Gid>& from, const wire::Gid& subject,
                   const std::optional<wire::MacAddress>& to = std::nullopt);
/// Builds a reply that `subject` is at `own`, to the requester `to` at `mac`; to all if `to` is none (a probe).
Frame make_reply(const wire::MacAddress& own, const wire::Gid& subject, const std::optional<wire::Gid>& to,
                 const wire::MacAddress& mac);
/// Builds an unsolicited announcement to all (RFC 5227, 2.3; RFC 4861, 7.2.6).
Frame make_announcement(const wire::MacAddress& own, const wire::Gid& subject);

}  // namespace verbline::neighbour
