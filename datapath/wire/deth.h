// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Datagram Extended Transport Header: follows the BTH of every UD packet.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------------------------------------------------------+
///     |                             Q_Key                             |
///     +---------------+-----------------------------------------------+
///     |    reserved   |                   source QPN                  |
///     +---------------+-----------------------------------------------+
///
/// IBTA volume 1, 9.3.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr Qpn gsi_qpn{1};              ///< QP1, the general services interface of every port (IBTA 3.9.3)
constexpr QKey gsi_qkey{0x8001'0000};  ///< Q_Key of QP1

struct Deth {
    static constexpr std::size_t size = 8;

    QKey qkey{};
    Qpn source{};

    using Layout = Fields<Field<&Deth::qkey, at(0), 32>, Reserved<at(4), 8>, Field<&Deth::source, at(5), 24>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Deth> parse(Bytes packet) { return read<Deth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Deth&) const = default;
};

}  // namespace verbline::wire
