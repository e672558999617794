// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// RTU: confirms a REP; the connection may be used.
///
///     byte  0  local id       4  remote id      8  private data, 224 bytes
///
/// IBTA volume 1, 12.6.9.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"

namespace verbline::wire {

struct CmRtu {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;   ///< the sender's
    std::uint32_t remote_id = 0;  ///< the receiver's, as far as known
    std::array<std::byte, 224> private_data{};

    using Layout = Fields<Field<&CmRtu::local_id, at(0), 32>, Field<&CmRtu::remote_id, at(4), 32>,
                          Field<&CmRtu::private_data, at(8), 1792>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmRtu> parse(Bytes packet) { return read<CmRtu>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmRtu&) const = default;
};

}  // namespace verbline::wire
