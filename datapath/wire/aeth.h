// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ACK Extended Transport Header: carries ACK, RNR NAK or NAK from the responder.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+---+---------+-----------------------------------------------+
///     |0|kin|  value  |                      MSN                      |
///     +-+---+---------+-----------------------------------------------+
///
/// IBTA volume 1, 9.3. kind 0: ACK, value = end-to-end credits (9.7.7.2); 1: RNR NAK, value = timer (9.7.5.2.8); 3:
/// NAK, value = NAK code.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

enum class AethKind : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };
enum class NakCode : std::uint8_t {
    psn_sequence = 0,
    invalid_request = 1,
    remote_access = 2,
    remote_operational = 3,
    invalid_rd_request = 4,
};
constexpr std::uint8_t credits_invalid = 0x1f;  ///< no end-to-end credits: the requester is not limited

struct Aeth {
    static constexpr std::size_t size = 4;

    AethKind kind{};
    std::uint8_t value = 0;  ///< 5 bits
    std::uint32_t msn = 0;   ///< 24 bits: requests completed at the responder

    using Layout = Fields<Reserved<at(0), 1>, Field<&Aeth::kind, at(0, 1), 2>, Field<&Aeth::value, at(0, 3), 5>,
                          Field<&Aeth::msn, at(1), 24>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Aeth> parse(Bytes packet) { return read<Aeth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Aeth&) const = default;
};

}  // namespace verbline::wire
