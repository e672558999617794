// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a generated frame carries behind its headers: who sent it, its number, and when.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------------------------------+---------------+---------------+
///     |             check             |      run      |     stream    |
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
///
/// The check makes the one's complement sum of the stamp's 16-bit words the same for all stamps. A damaged stamp is
/// therefore none; and as the checksums of UDP and TCP are such sums, they do not depend on what the stamp says.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "datapath/wire/header.h"

namespace verbline::traffic {

struct Stamp {
    static constexpr std::size_t size = 18;
    static constexpr std::size_t max_streams = 256;
    static constexpr std::uint16_t sum = 0x5642;  ///< of the words of every stamp

    std::uint8_t run = 0;        ///< a trial of the generator: frames of an earlier one may still be under way
    std::uint8_t stream = 0;     ///< a queue of the generator, which numbers its frames by itself
    std::uint64_t sequence = 0;  ///< 48 bits, from 0
    std::uint64_t time = 0;

    /// The check, which is not part of the value, is reserved here.
    using Layout =
        wire::Fields<wire::Reserved<wire::at(0), 16>, wire::Field<&Stamp::run, wire::at(2), 8>,
                     wire::Field<&Stamp::stream, wire::at(3), 8>, wire::Field<&Stamp::sequence, wire::at(4), 48>,
                     wire::Field<&Stamp::time, wire::at(10), 64>>;
    static_assert(Layout::tile(size));

    static constexpr wire::Parsed<Stamp> parse(wire::Bytes bytes) {
        const auto stamp = wire::read<Stamp>(bytes);
        if (stamp && wire::load16(bytes, 0) != stamp->check()) return std::unexpected(wire::Malformed::checksum);
        return stamp;
    }
    /// In three stores: out of the layout's bytes GCC 12 makes many. A generator does this for each frame.
    void emit(std::span<std::byte, size> out) const {
        const auto head = std::uint64_t{check()} << 48 | std::uint64_t{run} << 40 | std::uint64_t{stream} << 32 |
                          (sequence >> 16 & 0xffff'ffff);
        const std::array words{big_endian(head), big_endian(sequence << 48 | time >> 16)};
        std::memcpy(out.data(), words.data(), sizeof words);
        wire::store16(out, sizeof words, time);
    }
    bool operator==(const Stamp&) const = default;

private:
    static constexpr std::uint64_t big_endian(std::uint64_t value) {
        return std::endian::native == std::endian::big ? value : std::byteswap(value);
    }
    static constexpr std::uint32_t words(std::uint64_t value) {
        return static_cast<std::uint32_t>((value & 0xffff) + (value >> 16 & 0xffff) + (value >> 32 & 0xffff) +
                                          (value >> 48));
    }
    static constexpr std::uint16_t folded(std::uint32_t value) {
        value = (value & 0xffff) + (value >> 16);
        return static_cast<std::uint16_t>(value + (value >> 16));
    }
    constexpr std::uint16_t check() const {
        const auto others = folded((std::uint32_t{run} << 8 | stream) + words(sequence) + words(time));
        return folded(std::uint32_t{sum} + static_cast<std::uint16_t>(~others));
    }
};

/// Of a received frame: Ethernet, perhaps an 802.1Q tag, and one of the encapsulations of frame_spec.h, whatever its
/// checksums and ICRC. nullopt: it was not generated here, or is cut off.
std::optional<Stamp> find_stamp(wire::Bytes frame) noexcept;

}  // namespace verbline::traffic
