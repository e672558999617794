// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a device says that it does for UD queue pairs beyond sending and receiving: asked of the device, as a request
/// that is accepted says nothing (checksums.h).

#include <cstdint>

#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

struct Offers {
    /// Checksums, of a queue pair that shares the kernel's number: of a plain one that says nothing (checksums.h).
    bool checksums = false;
    /// Bytes of the largest TCP packet that it segments; 0: it segments none, or does not make the checksums.
    std::uint32_t max_tso = 0;
    /// Receive queues over which it spreads datagrams by a hash of their flow; 1: it does not spread.
    std::uint32_t receive_queues = 1;
    std::uint32_t most_entries = 0;  ///< of the table from hash to queue, a power of two
    std::uint64_t hash_fields = 0;   ///< of IBV_RX_HASH_*, which such a hash can be of
};

/// A device that does not answer offers nothing.
Offers offers_of(ibv_context& context);

/// Restricts `fields` to those that a device of one address family and transport per queue pair can hash.
constexpr std::uint64_t of_ipv4_and_tcp(std::uint64_t fields) {
    return fields & (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP);
}

}  // namespace verbline::pmd::hca
