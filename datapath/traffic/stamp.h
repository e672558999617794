// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a generated frame carries behind its UDP or TCP header: who sent it, its number, and when.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------------------------------+---------------+---------------+
///     |           signature           |      run      |     stream    |
///     +-------------------------------+---------------+---------------+
///     |                            sequence                           |
///     +                               +-------------------------------+
///     |                               |                               |
///     +-------------------------------+                               +
///     |                 time: cycles of the time stamp counter        |
///     +                               +-------------------------------+
///     |                               |
///     +-------------------------------+
///
/// 18 bytes: what is left in an Ethernet frame of 64 bytes behind IPv4 and UDP. The time means something on the machine
/// that sent the frame only, as its time stamp counter is of no other.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/wire/header.h"

namespace verbline::traffic {

struct Stamp {
    static constexpr std::size_t size = 18;
    static constexpr std::uint16_t signature = 0x5642;
    static constexpr std::size_t max_streams = 256;

    std::uint8_t run = 0;        ///< a trial of the generator: frames of an earlier one may still be under way
    std::uint8_t stream = 0;     ///< a queue of the generator, which numbers its frames by itself
    std::uint64_t sequence = 0;  ///< 48 bits, from 0
    std::uint64_t time = 0;

    using Layout =
        wire::Fields<wire::Constant<wire::at(0), 16, signature, wire::Malformed::version>,
                     wire::Field<&Stamp::run, wire::at(2), 8>, wire::Field<&Stamp::stream, wire::at(3), 8>,
                     wire::Field<&Stamp::sequence, wire::at(4), 48>, wire::Field<&Stamp::time, wire::at(10), 64>>;
    static_assert(Layout::tile(size));

    static constexpr wire::Parsed<Stamp> parse(wire::Bytes bytes) { return wire::read<Stamp>(bytes); }
    constexpr void emit(std::span<std::byte, size> out) const { wire::write(*this, out); }
    bool operator==(const Stamp&) const = default;
};

/// Of a received frame: Ethernet, perhaps an 802.1Q tag, IPv4 or IPv6, UDP or TCP. nullopt: it was not generated here,
/// or is cut off.
std::optional<Stamp> find_stamp(wire::Bytes frame) noexcept;

}  // namespace verbline::traffic
