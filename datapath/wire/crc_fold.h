// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The CRC-32 of the ICRC and the CRC-16 of the VCRC by carry-less multiplication in registers of 256 or 512 bits, each
/// alone or both in one pass. Internal to icrc.cc; results equal those of other engines.
///
/// States are registers: before the final complement, least significant bit first. Threads: functions of their
/// arguments only.

#include <cstddef>
#include <cstdint>

#include "datapath/wire/bytes.h"

namespace verbline::wire {

struct CrcStates {
    std::uint32_t icrc;
    std::uint16_t vcrc;
    bool operator==(const CrcStates&) const = default;
};

constexpr std::size_t least_folded = 16;  ///< bytes that the functions below need at least

/// Of the registers that many bytes are folded in; few are always folded in the narrow ones.
enum class FoldWidth : std::uint8_t { bits_256, bits_512 };

/// Whether this CPU has the instructions, and does not slow down for them; else the functions below may not be called.
bool can_fold_crcs(FoldWidth width = FoldWidth::bits_256);
FoldWidth widest_fold();

/// Continues the ICRC's CRC-32 over `bytes`.
std::uint32_t fold_icrc(std::uint32_t state, Bytes bytes, FoldWidth width = widest_fold());

/// Continues both over the same bytes. Takes as long as one.
CrcStates fold_crcs(CrcStates states, Bytes bytes, FoldWidth width = widest_fold());

}  // namespace verbline::wire
