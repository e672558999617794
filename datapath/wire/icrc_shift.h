// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What bytes of zeros make of the ICRC's CRC-32, without reading them: a CRC is linear, so they multiply it by a power
/// of x.

#include <array>
#include <cstddef>
#include <cstdint>

namespace verbline::wire {

/// The register after `bytes` of zeros, 65,535 at most. A register is a CRC before its final complement.
std::uint32_t icrc_behind_zeros(std::uint32_t state, std::size_t bytes);

/// The same for one number of zeros and many registers: tables of 4 KiB, of which each use reads four entries.
class IcrcZeros {
public:
    explicit IcrcZeros(std::size_t bytes);

    std::uint32_t behind(std::uint32_t state) const {
        return tables_[0][state & 0xff] ^ tables_[1][state >> 8 & 0xff] ^ tables_[2][state >> 16 & 0xff] ^
               tables_[3][state >> 24];
    }

private:
    std::array<std::array<std::uint32_t, 256>, 4> tables_;  ///< of the register's bytes, the least significant first
};

}  // namespace verbline::wire
