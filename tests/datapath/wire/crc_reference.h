// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// CRCs as the standards define them, bit by bit, and the ICRC as IBTA words it: a masked copy of the packet. Shares
/// nothing with the code under test but the polynomials' definition, which is written here the other way round.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace verbline::wire::reference {

/// Remainder of `bytes`, each least significant bit first, behind a register of ones; complemented. `polynomial` in the
/// usual order, without its highest power. The result's bit 0 is the coefficient of the highest power.
inline std::uint32_t crc(std::span<const std::byte> bytes, unsigned width, std::uint32_t polynomial) {
    const std::uint64_t top = std::uint64_t{1} << (width - 1), all = (top << 1) - 1;
    std::uint64_t remainder = all;
    for (const auto byte : bytes) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            const bool in = (static_cast<unsigned>(byte) >> bit & 1) != 0;
            const bool out = (remainder & top) != 0;
            remainder = (remainder << 1 & all) ^ (in != out ? polynomial : 0);
        }
    }
    remainder ^= all;
    std::uint32_t reversed = 0;
    for (unsigned bit = 0; bit < width; ++bit)
        reversed |= static_cast<std::uint32_t>(remainder >> bit & 1) << (width - 1 - bit);
    return reversed;
}

inline std::uint32_t crc32(std::span<const std::byte> bytes) {
    return crc(bytes, 32, 0x04c1'1db7);
}
inline std::uint16_t vcrc(std::span<const std::byte> bytes) {
    return static_cast<std::uint16_t>(crc(bytes, 16, 0x100b));
}

/// A byte of the packet and the bits of it that count as ones.
struct Mask {
    std::size_t at;
    unsigned bits = 0xff;
};

inline std::uint32_t icrc(std::span<const std::byte> covered, std::initializer_list<Mask> masks, bool ones_before) {
    std::vector<std::byte> copy(ones_before ? 8 : 0, std::byte{0xff});
    const std::size_t begin = copy.size();
    copy.insert(copy.end(), covered.begin(), covered.end());
    for (const auto& mask : masks) copy[begin + mask.at] |= static_cast<std::byte>(mask.bits);
    return crc32(copy);
}

}  // namespace verbline::wire::reference
