// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The maximum segment size of TCP (RFC 9293, 3.7.1), lowered in forwarded SYNs: where ICMP errors are filtered, hosts
/// do not learn a path's MTU, and larger packets are always lost (RFC 2923, 2.1; RFC 4459, 3.2).

#include <cstdint>

struct rte_mbuf;

namespace verbline::forward {

/// Lowers the maximum segment size that a SYN announces to what packets of `mtu` bytes carry without options (RFC 6691,
/// 2). Returns whether it was larger. Never raises it, and adds none: without the option it is at most 1220 bytes.
///
/// The packet begins at its IP header, of either version. Left as they are: packets whose TCP header and options are
/// not in the first segment, fragments other than the first, and IPv6 packets with extension headers. The checksum is
/// updated (RFC 1624), unless it is still to be computed.
bool clamp_mss(rte_mbuf& packet, std::uint32_t mtu);

}  // namespace verbline::forward
