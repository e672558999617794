// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Source address validation, ARP inspection and RA guard (RFC 7039, RFC 6105) for a switch whose hosts' addresses are
/// configured instead of learned.
///
///     IPv4, IPv6, RoCE v1   source address (GID): one of the lane's
///     ARP                   sender: the lane's MAC and one of its addresses
///     Neighbour Discovery   advertised target: one of its addresses; link-layer options: its MAC; nothing that only
///                           a router sends
///
/// The unspecified address is allowed (duplicate address detection, DHCP). The same rules apply behind one or two VLAN
/// tags; frames with more tags are rejected. Frames of other EtherTypes pass: of those, the switch itself validates the
/// source MAC.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rte_mbuf.h>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::pmd {

class SourceGuard {
public:
    enum class Verdict : std::uint8_t { passes, foreign_ip, foreign_arp, foreign_nd };

    /// `addresses`: all of the lane's, IPv4 mapped (::ffff:a.b.c.d) and IPv6, including link-local ones.
    SourceGuard(wire::MacAddress mac, const std::vector<wire::Gid>& addresses);

    /// The first segment of `frame` holds at least the Ethernet header. Headers that lie outside it are not accepted.
    Verdict check(const rte_mbuf& frame) const noexcept;

    /// Fast path: true for untagged IPv4 from the lane's first address, which passes. False is no verdict: call
    /// `check`.
    bool is_own_ipv4(const rte_mbuf& frame) const noexcept {
        constexpr std::size_t type_at = 12, source_at = 26, end = 34;
        if (frame.data_len < end) return false;
        const wire::Bytes bytes{rte_pktmbuf_mtod(&frame, const std::byte*), end};
        return wire::load16(bytes, type_at) == 0x0800 && wire::load32(bytes, source_at) == first_ipv4_;
    }

private:
    bool owns(std::uint32_t ipv4) const noexcept;
    bool owns(wire::Bytes gid) const noexcept;
    Verdict check_ipv4(wire::Bytes packet) const noexcept;
    Verdict check_ipv6(wire::Bytes packet) const noexcept;
    Verdict check_roce_v1(wire::Bytes packet) const noexcept;
    Verdict check_arp(wire::Bytes packet) const noexcept;
    Verdict check_upper(std::uint8_t next_header, wire::Bytes packet) const noexcept;
    Verdict check_icmpv6(wire::Bytes message) const noexcept;
    bool own_link_options(wire::Bytes options) const noexcept;

    wire::MacAddress mac_;
    std::uint32_t first_ipv4_ = 0;
    std::vector<std::uint32_t> ipv4_;
    std::vector<wire::Gid> gids_;  ///< all
};

}  // namespace verbline::pmd
