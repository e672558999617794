// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ClassPortInfo: capabilities, response time, redirection and trap destination of a class manager.
///
///     byte  0  base version       1  class version       2  capability mask
///           4  capability mask 2, 27 bits; response time 5
///           8  redirect GID      24  redirect traffic class, SL 4 bits, flow label 20
///          28  redirect LID      30  redirect P_Key      32  reserved     33  redirect QPN 24      36  redirect Q_Key
///          40  trap GID          56  trap traffic class, SL 4 bits, flow label 20
///          60  trap LID          62  trap P_Key          64  trap hop limit     65  trap QPN 24    68  trap Q_Key
///
/// IBTA volume 1, 13.4.8.1.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct ClassPortInfo {
    static constexpr std::size_t size = 72;

    std::uint8_t base_version = 1;
    std::uint8_t class_version = sa_class_version;
    std::uint16_t capabilities = 0;
    std::uint32_t capabilities_2 = 0;  ///< 27 bits
    std::uint8_t response_time = 0;    ///< 4.096 us * 2^n
    Gid redirect_gid{};
    std::uint8_t redirect_traffic_class = 0;
    std::uint8_t redirect_service_level = 0;
    std::uint32_t redirect_flow_label = 0;
    Lid redirect_lid{};
    PKey redirect_pkey{};
    Qpn redirect_qpn{};
    QKey redirect_qkey{};
    Gid trap_gid{};
    std::uint8_t trap_traffic_class = 0;
    std::uint8_t trap_service_level = 0;
    std::uint32_t trap_flow_label = 0;
    Lid trap_lid{};
    PKey trap_pkey{};
    std::uint8_t trap_hop_limit = 0;
    Qpn trap_qpn{};
    QKey trap_qkey{};

    using Layout =
        Fields<Field<&ClassPortInfo::base_version, at(0), 8>, Field<&ClassPortInfo::class_version, at(1), 8>,
               Field<&ClassPortInfo::capabilities, at(2), 16>, Field<&ClassPortInfo::capabilities_2, at(4), 27>,
               Field<&ClassPortInfo::response_time, at(7, 3), 5>, Field<&ClassPortInfo::redirect_gid, at(8), 128>,
               Field<&ClassPortInfo::redirect_traffic_class, at(24), 8>,
               Field<&ClassPortInfo::redirect_service_level, at(25), 4>,
               Field<&ClassPortInfo::redirect_flow_label, at(25, 4), 20>,
               Field<&ClassPortInfo::redirect_lid, at(28), 16>, Field<&ClassPortInfo::redirect_pkey, at(30), 16>,
               Reserved<at(32), 8>, Field<&ClassPortInfo::redirect_qpn, at(33), 24>,
               Field<&ClassPortInfo::redirect_qkey, at(36), 32>, Field<&ClassPortInfo::trap_gid, at(40), 128>,
               Field<&ClassPortInfo::trap_traffic_class, at(56), 8>,
               Field<&ClassPortInfo::trap_service_level, at(57), 4>,
               Field<&ClassPortInfo::trap_flow_label, at(57, 4), 20>, Field<&ClassPortInfo::trap_lid, at(60), 16>,
               Field<&ClassPortInfo::trap_pkey, at(62), 16>, Field<&ClassPortInfo::trap_hop_limit, at(64), 8>,
               Field<&ClassPortInfo::trap_qpn, at(65), 24>, Field<&ClassPortInfo::trap_qkey, at(68), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<ClassPortInfo> parse(Bytes packet) { return read<ClassPortInfo>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const ClassPortInfo&) const = default;
};

}  // namespace verbline::wire
