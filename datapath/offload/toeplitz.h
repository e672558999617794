// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The Toeplitz hash of receive-side scaling: as NICs compute it over a flow's addresses and ports.
///
///     input   | source address | destination address | source port | destination port |      network byte order
///     hash    XOR, over all bits i of the input that are set, of bits i .. i + 31 of the key
///
/// The hash is linear: hashes of parts of an input, each at its offset, XOR to the hash of the whole. Two tables per
/// byte, of 16 hashes each, therefore replace the loop over bits: 1.5 KB for IPv4, 4.6 KB for IPv6.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/bytes.h"

namespace verbline::offload {

/// Never changes once constructed: any number of threads may use one.
class Toeplitz {
public:
    static constexpr std::size_t max_input = 36;            ///< addresses and ports of IPv6, bytes
    static constexpr std::size_t key_size = max_input + 4;  ///< the least that hashes so many

    explicit Toeplitz(std::span<const std::uint8_t, key_size> key);

    /// Of an input that holds `bytes` from offset `at` on, and zeros elsewhere; at most `max_input` bytes in all.
    std::uint32_t operator()(wire::Bytes bytes, std::size_t at = 0) const noexcept {
        std::uint32_t high = 0, low = 0;  // apart, so that two loads are under way at any time
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const auto value = wire::load8(bytes, i);
            const auto& tables = tables_[at + i];
            high ^= tables.high[value >> 4];
            low ^= tables.low[value & 15];
        }
        return high ^ low;
    }

private:
    /// Hashes of each value of the halves of one byte of the input.
    struct ByteTables {
        std::array<std::uint32_t, 16> high, low;
    };

    std::array<ByteTables, max_input> tables_;
};

}  // namespace verbline::offload
