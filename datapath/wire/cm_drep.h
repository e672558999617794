// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DREP: confirms a DREQ.
///
///     byte  0  local id       4  remote id      8  private data, 224 bytes
///
/// IBTA volume 1, 12.6.11.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"

namespace verbline::wire {

struct CmDrep {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;   ///< the sender's
    std::uint32_t remote_id = 0;  ///< the receiver's, as far as known
    std::array<std::byte, 224> private_data{};

    using Layout = Fields<Field<&CmDrep::local_id, at(0), 32>, Field<&CmDrep::remote_id, at(4), 32>,
                          Field<&CmDrep::private_data, at(8), 1792>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmDrep> parse(Bytes packet) { return read<CmDrep>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmDrep&) const = default;
};

}  // namespace verbline::wire
