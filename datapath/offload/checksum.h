// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The Internet checksum (RFC 1071) over spans and mbuf chains, and the checksum flags of mbufs.
///
/// The ones' complement sum is independent of byte order (RFC 1071, 2): words are added in memory order and swapped
/// once at the end.
///
/// Threads: functions of their arguments only.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "datapath/wire/bytes.h"
#include "datapath/wire/ip.h"

struct rte_mbuf;

namespace verbline::offload {

/// Adds the bytes as 16-bit words in memory order, an odd last byte padded with zero. Not folded: adding the results of
/// up to 2^16 calls of up to 64 KB each does not overflow.
std::uint64_t sum_words(wire::Bytes bytes);

/// As `sum_words`, and copies the bytes to `to` in the same pass. The ranges must not overlap.
std::uint64_t copy_and_sum_words(std::byte* to, wire::Bytes bytes);

/// Accumulates a checksum over pieces of any length; a piece that begins at an odd offset is added byte-swapped.
class Sum {
public:
    /// A word of a header or pseudo-header, host order.
    constexpr Sum& add16(std::uint16_t word) {
        words_ += swapped(word);
        return *this;
    }
    constexpr Sum& add32(std::uint32_t words) {
        return add16(static_cast<std::uint16_t>(words >> 16)).add16(static_cast<std::uint16_t>(words));
    }
    Sum& add(wire::Bytes bytes) { return take(sum_words(bytes), bytes.size()); }
    Sum& add_copying(std::byte* to, wire::Bytes bytes) { return take(copy_and_sum_words(to, bytes), bytes.size()); }

    /// The value of the checksum field, host order.
    constexpr std::uint16_t checksum() const { return static_cast<std::uint16_t>(~swapped(fold(words_))); }
    /// Whether the checksum verifies, if the checksum field itself was added too.
    constexpr bool verifies() const { return checksum() == 0; }

private:
    static constexpr std::uint16_t swapped(std::uint16_t word) {
        if constexpr (std::endian::native == std::endian::big) return word;
        return static_cast<std::uint16_t>(word << 8 | word >> 8);
    }
    static constexpr std::uint16_t fold(std::uint64_t words) {
        words = (words & 0xffff'ffff) + (words >> 32);
        words = (words & 0xffff'ffff) + (words >> 32);
        words = (words & 0xffff) + (words >> 16);
        words = (words & 0xffff) + (words >> 16);
        return static_cast<std::uint16_t>(words);
    }
    Sum& take(std::uint64_t words, std::size_t size) {
        if (odd_) words = std::uint64_t{std::rotl(fold(words), 8)};
        words_ += words;
        odd_ ^= (size & 1) != 0;
        return *this;
    }

    std::uint64_t words_ = 0;
    bool odd_ = false;
};

/// Whether the checksum of an IPv4 header without options verifies: five words, added as 32 bits and folded once.
inline bool plain_header_verifies(std::span<const std::byte, 20> header) {
    const auto two = [header](std::size_t at) {
        std::uint32_t words;
        std::memcpy(&words, header.data() + at, sizeof(words));
        return std::uint64_t{words};
    };
    const auto words = two(0) + two(4) + two(8) + two(12) + two(16);  // a loop is not always unrolled
    const auto carries = static_cast<std::uint32_t>(words >> 32);
    auto sum = static_cast<std::uint32_t>(words) + carries;
    if (sum < carries) ++sum;
    return (sum + std::rotl(sum, 16)) >> 16 == 0xffff;  // the upper half: that of both halves, with their carry
}

/// Whether the checksum of an IPv4 header verifies.
inline bool header_verifies(wire::Bytes header) {
    return header.size() == 20 ? plain_header_verifies(header.first<20>()) : Sum{}.add(header).verifies();
}

/// The sum over the pseudo-header of TCP and UDP: RFC 9293, 3.1; for IPv6 RFC 8200, 8.1. `ip` is a whole IP header of
/// either version, `length` counts the transport header and its data.
Sum pseudo_header(wire::Bytes ip, wire::IpProtocol protocol, std::uint32_t length);

/// Adds `length` bytes from offset `from` of a chain, which must hold that many.
void add_chain(Sum& sum, const rte_mbuf& packet, std::uint32_t from, std::uint32_t length);

/// Satisfies the packet's TX_IP_CKSUM, TX_TCP_CKSUM and TX_UDP_CKSUM requests and clears their flags. The packet must
/// begin at the IP header, with l3_len set and all headers in the first segment. Returns false, and leaves the packet
/// unchanged, if not: it cannot be sent then.
bool finish_checksums(rte_mbuf& packet);

enum class L4Verdict : std::uint8_t {
    good,
    bad,
    none,  ///< nothing to verify: not TCP or UDP, a fragment, a UDP datagram without checksum, or not understood
};

/// Verifies the TCP or UDP checksum of a packet whose IP header, in its first segment, is at offset `ip_at`, ignoring
/// its offload flags. Behind extension headers of IPv6 it does not look.
L4Verdict verify_l4(const rte_mbuf& packet, std::uint32_t ip_at = 0);

}  // namespace verbline::offload
