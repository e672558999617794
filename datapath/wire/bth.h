// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Base Transport Header: the twelve bytes at the head of every InfiniBand transport packet.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+-+-+---+-------+-------------------------------+
///     |    opcode     |S|M|Pad| TVer  |             P_Key             |
///     +-+-+-----------+-+-+---+-------+-------------------------------+
///     |F|B| reserved  |                destination QPN                |
///     +-+-+-----------+-----------------------------------------------+
///     |A|  reserved   |                      PSN                      |
///     +-+-------------+-----------------------------------------------+
///
/// S solicited event, M MigReq, F/B forward and backward congestion marks, A acknowledge request.
/// IBTA volume 1, 9.2. All fields big-endian.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

/// Opcode of a datagram in one packet, without immediate data: UD SEND only (IBTA volume 1, 9.2.1).
constexpr std::uint8_t ud_send_only = 0x64;

/// A BTH as a value. `parse` checks only length and version; the transport checks the opcode.
struct Bth {
    static constexpr std::size_t size = 12;

    std::uint8_t opcode = 0;
    bool solicited = false;
    bool migrated = true;  ///< hardware sends 1, kernel soft-RoCE 0; receivers accept either
    std::uint8_t pad = 0;  ///< bytes of padding before the ICRC, 0..3
    PKey pkey{0xffff};
    bool fecn = false;
    bool becn = false;
    Qpn dest{};
    bool ack_request = false;
    Psn psn{};

    using Layout =
        Fields<Field<&Bth::opcode, at(0), 8>, Field<&Bth::solicited, at(1), 1>, Field<&Bth::migrated, at(1, 1), 1>,
               Field<&Bth::pad, at(1, 2), 2>, Constant<at(1, 4), 4, 0, Malformed::version>,
               Field<&Bth::pkey, at(2), 16>, Field<&Bth::fecn, at(4), 1>, Field<&Bth::becn, at(4, 1), 1>,
               Reserved<at(4, 2), 6>, Field<&Bth::dest, at(5), 24>, Field<&Bth::ack_request, at(8), 1>,
               Reserved<at(8, 1), 7>, Field<&Bth::psn, at(9), 24>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Bth> parse(Bytes packet) { return read<Bth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Bth&) const = default;
};

}  // namespace verbline::wire
