// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ARP and Neighbour Discovery in one form: a request for an address, or a statement of its owner.
///
///     ARP request   `source` at `at` requests `subject`       RFC 826; from 0.0.0.0 a probe (RFC 5227, 2.1)
///     ARP reply     `source` is at `at`                       RFC 826
///     NS            as a request; source address and option    RFC 4861, 4.3; from :: a probe (RFC 4862, 5.4)
///     NA            as a reply; target address and option      RFC 4861, 4.4
///
/// Addresses are GIDs: IPv6, or IPv4 mapped. The codecs are arp.h and discovery.h; frame.h puts both into Ethernet.

#include <cstdint>
#include <optional>

#include "datapath/neighbour/link_address.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

enum class Family : std::uint8_t { ipv4, ipv6 };

/// IPv4 for mapped addresses (::ffff:a.b.c.d), else IPv6.
Family family_of(const wire::Gid& gid);
/// Whether a host can have this address: not zero, multicast, loopback or broadcast (RFC 1122, 3.2.1.3).
bool is_host(const wire::Gid& gid);

struct Message {
    bool solicits = false;            ///< a request or solicitation; else a reply or advertisement of `source`
    std::optional<wire::Gid> source;  ///< protocol address of the sender; none: a probe, which has none yet
    std::optional<LinkAddress> at;    ///< link-layer address of `source`; none: not given
    wire::Gid subject{};              ///< the address solicited, or the destination of a reply (zero: all)
    std::optional<LinkAddress> frame_source{};  ///< of the frame, on links that show it
    bool solicited = false;                     ///< a reply to a request
    bool overrides = true;                      ///< may replace a known link-layer address (override flag)
    bool router = false;                        ///< ND's router flag; not parsed
    std::uint64_t nonce = 0;                    ///< of ND's probes, 48 bits (RFC 7527); 0: none
    bool operator==(const Message&) const = default;
};

/// A request for `subject`. `from` is a local address of its family; none: a probe.
Message request(const LinkAddress& own, const std::optional<wire::Gid>& from, const wire::Gid& subject);
/// The reply that `subject` is at `own`, to the requester `to`; none: to a probe, which ND answers to all (RFC 4861,
/// 7.2.4).
Message reply(const LinkAddress& own, const wire::Gid& subject, const std::optional<wire::Gid>& to);
/// An unsolicited announcement to all (RFC 5227, 2.3; RFC 4861, 7.2.6).
Message announcement(const LinkAddress& own, const wire::Gid& subject);

/// Classification of a packet by its available bytes.
enum class Kind : std::uint8_t { other, resolution, malformed };

/// A packet as a codec reads it.
struct Read {
    Kind kind = Kind::other;
    Family family{};    ///< except of `other`
    Message message{};  ///< of `resolution`
};

}  // namespace verbline::neighbour
