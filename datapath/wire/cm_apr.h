// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// APR: answers a LAP: whether the alternate path was loaded.
///
///     byte  0  local id       4  remote id      8  information length      9  status     10  reserved
///          12  additional information, 72 bytes                           84  private data, 148 bytes
///
/// IBTA volume 1, 12.8.2.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"

namespace verbline::wire {

struct CmApr {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;           ///< the sender's
    std::uint32_t remote_id = 0;          ///< the receiver's, as far as known
    std::uint8_t information_length = 0;  ///< valid bytes of `information`; not checked by `parse`
    AprStatus status{};
    std::array<std::byte, cm_additional_info_size> information{};
    std::array<std::byte, 148> private_data{};

    using Layout =
        Fields<Field<&CmApr::local_id, at(0), 32>, Field<&CmApr::remote_id, at(4), 32>,
               Field<&CmApr::information_length, at(8), 8>, Field<&CmApr::status, at(9), 8>, Reserved<at(10), 16>,
               Field<&CmApr::information, at(12), 576>, Field<&CmApr::private_data, at(84), 1184>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmApr> parse(Bytes packet) { return read<CmApr>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmApr&) const = default;
};

}  // namespace verbline::wire
