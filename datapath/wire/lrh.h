// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Local Route Header: routes an InfiniBand packet within its subnet.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------+-------+-------+---+---+-------------------------------+
///     |   VL  |  LVer |   SL  |rsv|LNH|        destination LID        |
///     +-------+-------+-------+---+---+-------------------------------+
///     | reserved|    packet length    |           source LID          |
///     +---------+---------------------+-------------------------------+
///
/// IBTA volume 1, 7.7. Packet length counts 32-bit words from the LRH through the ICRC; the VCRC behind it is not
/// counted.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

/// The header behind the LRH.
enum class NextHeader : std::uint8_t { raw = 0, raw_ipv6 = 1, bth = 2, grh = 3 };

struct Lrh {
    static constexpr std::size_t size = 8;

    std::uint8_t virtual_lane = 0;
    std::uint8_t service_level = 0;
    NextHeader next = NextHeader::bth;
    Lid destination{};
    std::uint16_t packet_words = 0;  ///< 11 bits
    Lid source{};

    using Layout = Fields<Field<&Lrh::virtual_lane, at(0), 4>, Constant<at(0, 4), 4, 0, Malformed::version>,
                          Field<&Lrh::service_level, at(1), 4>, Reserved<at(1, 4), 2>, Field<&Lrh::next, at(1, 6), 2>,
                          Field<&Lrh::destination, at(2), 16>, Reserved<at(4), 5>,
                          Field<&Lrh::packet_words, at(4, 5), 11>, Field<&Lrh::source, at(6), 16>>;
    static_assert(Layout::tile(size));

    constexpr std::size_t packet_size() const { return std::size_t{packet_words} * 4; }

    static constexpr Parsed<Lrh> parse(Bytes packet) { return read<Lrh>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Lrh&) const = default;
};

}  // namespace verbline::wire
