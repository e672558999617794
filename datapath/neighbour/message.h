// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ARP and Neighbour Discovery as one kind of message: somebody asks for an address, or says whose it is.
///
///     ARP request       `speaker` at `mac` asks for `subject`       RFC 826; from 0.0.0.0 it is a probe (RFC
///     5227, 2.1) ARP reply         `speaker` at `mac` NS                as a request, by its source address and option
///     RFC 4861, 4.3; from :: RFC 4862, 5.4 NA                as a reply, by its target address and option          RFC
///     4861, 4.4
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

/// IPv4 addresses are those that IPv6 has a mapped form for.
Family family_of(const wire::Gid& gid);

struct Message {
    bool asks = false;                   ///< a request; else a statement about `speaker`
    std::optional<wire::Gid> speaker;    ///< none: a probe, of one who has no address yet
    std::optional<wire::MacAddress> at;  ///< where `speaker` is; none: not said
    wire::Gid subject{};                 ///< who is asked for, or who is told (nobody in particular: zero)
    wire::MacAddress sender{};           ///< of the frame
    bool solicited = false;              ///< a statement that answers a question
    bool overrides = true;               ///< what was believed before
    bool operator==(const Message&) const = default;
};

struct Read {
    FrameKind kind = FrameKind::other;
    Message message{};  ///< of `resolution`
};

/// ICMPv6 other than NS and NA is `other`, and so is all that is neither ARP nor ICMPv6.
Read read_message(wire::Bytes frame);

/// A frame to send.
struct Frame {
    static constexpr std::size_t capacity = 86;  ///< an NS or NA with its option

    std::array<std::byte, capacity> bytes{};
    std::size_t size = 0;

    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
};

/// Who has `subject`? `from` is one of our own addresses of its family; none: a probe. `to`: one interface alone.
Frame make_request(const wire::MacAddress& own, const std::optional<wire::Gid>& from, const wire::Gid& subject,
                   const std::optional<wire::MacAddress>& to = std::nullopt);
/// `subject` is ours. `to` is who has asked, at `mac`; none (a probe): everyone.
Frame make_reply(const wire::MacAddress& own, const wire::Gid& subject, const std::optional<wire::Gid>& to,
                 const wire::MacAddress& mac);
/// The same, to all, unasked (RFC 5227, 2.3; RFC 4861, 7.2.6).
Frame make_announcement(const wire::MacAddress& own, const wire::Gid& subject);

}  // namespace verbline::neighbour
