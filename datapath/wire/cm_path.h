// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A path inside of a REQ, as the REQ's sender sees it: "local" is the sender.
///
///     byte  0  local LID      2  remote LID      4  local GID      20  remote GID
///          36  flow label 20 bits; reserved 6; rate 6
///          40  traffic class  41  hop limit
///          42  SL 4 bits, subnet local 1, reserved 3
///          43  local ACK timeout 5 bits, reserved 3
///
/// IBTA volume 1, 12.6.5.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct CmPath {
    static constexpr std::size_t size = 44;

    Lid local_lid{};  ///< RoCE: permissive, like `remote_lid`; 0 in an alternate path: no alternate path
    Lid remote_lid{};
    Gid local_gid{};
    Gid remote_gid{};
    std::uint32_t flow_label = 0;
    std::uint8_t rate = 0;  ///< coded as in PathRecord
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t service_level = 0;
    bool subnet_local = false;     ///< no GRH is needed
    std::uint8_t ack_timeout = 0;  ///< 4.096 us * 2^n

    using Layout =
        Fields<Field<&CmPath::local_lid, at(0), 16>, Field<&CmPath::remote_lid, at(2), 16>,
               Field<&CmPath::local_gid, at(4), 128>, Field<&CmPath::remote_gid, at(20), 128>,
               Field<&CmPath::flow_label, at(36), 20>, Reserved<at(38, 4), 6>, Field<&CmPath::rate, at(39, 2), 6>,
               Field<&CmPath::traffic_class, at(40), 8>, Field<&CmPath::hop_limit, at(41), 8>,
               Field<&CmPath::service_level, at(42), 4>, Field<&CmPath::subnet_local, at(42, 4), 1>,
               Reserved<at(42, 5), 3>, Field<&CmPath::ack_timeout, at(43), 5>, Reserved<at(43, 5), 3>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmPath> parse(Bytes packet) { return read<CmPath>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmPath&) const = default;
};

}  // namespace verbline::wire
