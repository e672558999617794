// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The Internet checksum: the one's complement of the one's complement sum of 16-bit words (RFC 1071), in pieces.
/// Portable and not optimised, for headers and control packets; datapath/offload sums whole payloads.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

/// An incremental sum. All pieces except the last must have an even number of bytes.
class InternetChecksum {
public:
    constexpr InternetChecksum& add(Bytes bytes) {
        std::size_t i = 0;
        for (; i + 1 < bytes.size(); i += 2) sum_ += load16(bytes, i);
        if (i < bytes.size()) sum_ += std::uint64_t{load8(bytes, i)} << 8;
        return *this;
    }
    constexpr InternetChecksum& add(std::uint64_t word) {
        for (; word != 0; word >>= 16) sum_ += word & 0xffff;
        return *this;
    }
    /// Adds the IPv4 pseudo-header of UDP and TCP (RFC 768, RFC 9293). `length`: UDP or TCP header and payload, bytes.
    constexpr InternetChecksum& add_pseudo_header(Ipv4Address source, Ipv4Address destination, std::uint8_t protocol,
                                                  std::size_t length) {
        add(static_cast<std::uint32_t>(source)).add(static_cast<std::uint32_t>(destination));
        return add(protocol).add(length);
    }
    /// Adds the IPv6 pseudo-header of upper-layer protocols (RFC 8200, 8.1).
    constexpr InternetChecksum& add_pseudo_header(const Ipv6Address& source, const Ipv6Address& destination,
                                                  std::uint8_t protocol, std::size_t length) {
        return add(source.bytes).add(destination.bytes).add(protocol).add(length);
    }

    /// The checksum to send. Summed over a packet including its checksum: 0 if that is correct.
    constexpr std::uint16_t value() const {
        std::uint64_t folded = sum_;
        while (folded >> 16 != 0) folded = (folded & 0xffff) + (folded >> 16);
        return static_cast<std::uint16_t>(~folded);
    }

private:
    std::uint64_t sum_ = 0;
};

/// Updates `checksum` after one 16-bit word of the covered data has changed from `before` to `after` (RFC 1624,
/// equation 3).
constexpr std::uint16_t updated_checksum(std::uint16_t checksum, std::uint16_t before, std::uint16_t after) {
    std::uint32_t sum = static_cast<std::uint16_t>(~checksum);
    sum += static_cast<std::uint16_t>(~before);
    sum += after;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

}  // namespace verbline::wire
