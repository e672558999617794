// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checksums that IBV_SEND_IP_CSUM leaves to its user, and which devices do what it asks for.

#include <string_view>

struct rte_mbuf;

namespace verbline::pmd::hca {

/// Whether a plain UD queue pair at a port of this kind computes and verifies checksums of IPv4, TCP and UDP. That a
/// request with IBV_SEND_IP_CSUM is accepted says nothing: mlx5 and rxe ignore it. `driver`: the kernel's.
bool ud_does_checksums(std::string_view driver, bool ethernet);

/// Prepares a datagram that asks for checksums, of which it has `l2_len` bytes in front of its IP header: seeds the
/// fields as the device expects, and computes what it does not do, TCP and UDP of IPv6. False: the headers are not what
/// the request says.
bool seed_checksums(rte_mbuf& datagram);

}  // namespace verbline::pmd::hca
