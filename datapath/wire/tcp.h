// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Transmission Control Protocol: the fixed header, for segmentation, GRO and checksum offload.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------------------------------+-------------------------------+
///     |          source port          |        destination port       |
///     +-------------------------------+-------------------------------+
///     |                        sequence number                        |
///     +---------------------------------------------------------------+
///     |                     acknowledgement number                    |
///     +-------+-------+-+-+-+-+-+-+-+-+-------------------------------+
///     | offset|reservd|C|E|U|A|P|R|S|F|             window            |
///     +-------+-------+-+-+-+-+-+-+-+-+-------------------------------+
///     |            checksum           |         urgent pointer        |
///     +-------------------------------+-------------------------------+
///     |                options: offset - 5 words of 32 bits           |
///     +---------------------------------------------------------------+
///
/// C CWR, E ECE, U URG, A ACK, P PSH, R RST, S SYN, F FIN. RFC 9293, 3.1.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

namespace tcp_flag {
constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10, urg = 0x20, ece = 0x40, cwr = 0x80;
}

/// Kinds of options. The first two are one byte; the others have their length, kind included, in the next.
namespace tcp_option {
constexpr std::uint8_t end = 0, no_operation = 1, maximum_segment_size = 2;
}

struct Tcp {
    static constexpr std::size_t size = 20;  ///< without options

    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledgement = 0;
    std::uint8_t header_words = 5;  ///< data offset: header with options, in 32-bit words
    std::uint8_t reserved = 0;      ///< 4 bits, kept as found: accurate ECN uses one of them
    std::uint8_t flags = 0;         ///< tcp_flag
    std::uint16_t window = 0;
    std::uint16_t checksum = 0;
    std::uint16_t urgent = 0;

    using Layout =
        Fields<Field<&Tcp::source_port, at(0), 16>, Field<&Tcp::destination_port, at(2), 16>,
               Field<&Tcp::sequence, at(4), 32>, Field<&Tcp::acknowledgement, at(8), 32>,
               Field<&Tcp::header_words, at(12), 4>, Field<&Tcp::reserved, at(12, 4), 4>, Field<&Tcp::flags, at(13), 8>,
               Field<&Tcp::window, at(14), 16>, Field<&Tcp::checksum, at(16), 16>, Field<&Tcp::urgent, at(18), 16>>;
    static_assert(Layout::tile(size));

    constexpr std::size_t header_size() const { return std::size_t{header_words} * 4; }

    /// `segment` must hold the header with its options.
    static constexpr Parsed<Tcp> parse(Bytes segment) {
        const auto tcp = read<Tcp>(segment);
        if (tcp && tcp->header_size() < size) return std::unexpected(Malformed::length);
        if (tcp && segment.size() < tcp->header_size()) return std::unexpected(Malformed::truncated);
        return tcp;
    }
    /// Writes the fixed 20 bytes; the caller writes options, if any, behind them.
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Tcp&) const = default;
};

}  // namespace verbline::wire
