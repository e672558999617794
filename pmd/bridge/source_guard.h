// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Whether a host on a lane sends as itself: source address validation, ARP inspection and RA guard of a
/// switch (RFC 7039, RFC 6105) whose hosts are known instead of learned.
///
///     IPv4, IPv6, RoCE v1   source address (GID): one of the lane's
///     ARP                   sender: the lane's MAC and one of its addresses
///     Neighbour Discovery   advertised target: one of its addresses; link-layer options: its MAC; nothing that only
///                           a router sends
///
/// The unspecified address names nobody and is allowed (duplicate address detection, DHCP). The same holds behind one
/// or two VLAN tags; more are refused. Frames of other kinds have only their MAC addresses, which the switch compares.

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

    /// `addresses`: IPv4 mapped (::ffff:a.b.c.d), IPv6, the link-local ones among them.
    SourceGuard(wire::MacAddress mac, const std::vector<wire::Gid>& addresses);

    /// `frame` is no shorter than an Ethernet header, in its first segment, as are all headers of a frame that passes.
    Verdict check(const rte_mbuf& frame) const noexcept;

    /// True of most frames: untagged IPv4 from the lane's first address. Others may pass as well: `check`.
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
