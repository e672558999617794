// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Internet checksums in the plainest way, to compare with those of the datapath.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/bytes.h"

namespace verbline::test {

/// RFC 1071, word by word, as its section 4.1 has it. Zero over bytes whose checksum is right.
inline std::uint16_t naive_checksum(std::span<const std::byte> bytes, std::uint32_t sum = 0) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

/// Of TCP or UDP in an IP packet whose IP header has `ip_size` bytes, with its pseudo-header; likewise.
inline std::uint16_t naive_l4_checksum(std::span<const std::byte> packet, std::size_t ip_size) {
    const bool ipv6 = wire::load8(packet, 0) >> 4 == 6;
    const auto l4 = packet.subspan(ip_size);
    const std::uint32_t protocol = wire::load8(packet, ipv6 ? 6 : 9);
    const auto addresses = packet.subspan(ipv6 ? 8 : 12, ipv6 ? 32 : 8);
    const auto pseudo = std::uint16_t(~naive_checksum(addresses, protocol + static_cast<std::uint32_t>(l4.size())));
    return naive_checksum(l4, pseudo);
}

}  // namespace verbline::test
