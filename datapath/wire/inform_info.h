// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// InformInfo: subscribe to traps, which the SA then forwards as Reports.
///
///     byte  0  GID                     16  LID range begin     18  LID range end     20  reserved
///          22  is generic              23  subscribe           24  type              26  trap number or device id
///          28  QPN 24 bits, reserved 3, response time 5        32  reserved          33  producer type or vendor id 24
///
/// IBTA volume 1, 13.4.8.3.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct InformInfo {
    static constexpr std::size_t size = 36;
    static constexpr std::uint16_t every_type = 0xffff;
    static constexpr std::uint32_t every_producer = 0xff'ffff;

    Gid gid{};
    Lid lid_begin = permissive_lid;  ///< permissive: every LID
    Lid lid_end{};
    std::uint8_t is_generic = 1;
    std::uint8_t subscribe = 1;
    std::uint16_t type = every_type;
    std::uint16_t trap = 0;
    Qpn qpn{};                       ///< where Reports go to
    std::uint8_t response_time = 0;  ///< 4.096 us * 2^n
    std::uint32_t producer = every_producer;

    using Layout =
        Fields<Field<&InformInfo::gid, at(0), 128>, Field<&InformInfo::lid_begin, at(16), 16>,
               Field<&InformInfo::lid_end, at(18), 16>, Reserved<at(20), 16>, Field<&InformInfo::is_generic, at(22), 8>,
               Field<&InformInfo::subscribe, at(23), 8>, Field<&InformInfo::type, at(24), 16>,
               Field<&InformInfo::trap, at(26), 16>, Field<&InformInfo::qpn, at(28), 24>, Reserved<at(31), 3>,
               Field<&InformInfo::response_time, at(31, 3), 5>, Reserved<at(32), 8>,
               Field<&InformInfo::producer, at(33), 24>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<InformInfo> parse(Bytes packet) { return read<InformInfo>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const InformInfo&) const = default;
};

}  // namespace verbline::wire
