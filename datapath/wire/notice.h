// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Notice: the content of a trap or a Report.
///
///     byte  0  is generic 1 bit, type 7         1  producer type or vendor id 24
///           4  trap number or device id         6  issuer LID          8  toggle 1 bit, count 15
///          10  details, 54 bytes               64  issuer GID
///
/// IBTA volume 1, 13.4.8.2. Traps 64 to 67 name a GID at byte 6 of their details (14.2.5.1).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

enum class Trap : std::uint16_t {
    gid_in_service = 64,
    gid_out_of_service = 65,
    multicast_created = 66,
    multicast_deleted = 67,
    link_state_change = 128,
    capability_change = 144,
};

struct Notice {
    static constexpr std::size_t size = 80;
    static constexpr std::uint32_t from_class_manager = 4;

    bool generic = true;
    std::uint8_t type = 0;
    std::uint32_t producer = 0;
    std::uint16_t trap = 0;
    Lid issuer_lid{};
    bool toggle = false;
    std::uint16_t count = 0;
    std::array<std::byte, 54> details{};
    Gid issuer_gid{};

    using Layout = Fields<Field<&Notice::generic, at(0), 1>, Field<&Notice::type, at(0, 1), 7>,
                          Field<&Notice::producer, at(1), 24>, Field<&Notice::trap, at(4), 16>,
                          Field<&Notice::issuer_lid, at(6), 16>, Field<&Notice::toggle, at(8), 1>,
                          Field<&Notice::count, at(8, 1), 15>, Field<&Notice::details, at(10), 432>,
                          Field<&Notice::issuer_gid, at(64), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Notice> parse(Bytes packet) { return read<Notice>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Notice&) const = default;
};

/// The GID that traps 64 to 67 refer to.
constexpr Gid notice_gid(const Notice& notice) {
    Gid gid;
    std::ranges::copy(std::span(notice.details).subspan<6, 16>(), gid.bytes.begin());
    return gid;
}

}  // namespace verbline::wire
