// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// REJ: rejects a connection, with the reason.
///
///     byte  0  local id       4  remote id      8  message rejected 2 bits, reserved 6
///           9  information length 7 bits, reserved 1
///          10  reason        12  additional reject information (ARI), 72 bytes  84  private data, 148 bytes
///
/// IBTA volume 1, 12.6.7.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"

namespace verbline::wire {

struct CmRej {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;   ///< the sender's
    std::uint32_t remote_id = 0;  ///< the receiver's, as far as known
    CmAbout about{};
    std::uint8_t information_length = 0;  ///< valid bytes of `information`; not checked by `parse`
    CmRejectReason reason{};
    std::array<std::byte, cm_additional_info_size> information{};
    std::array<std::byte, 148> private_data{};

    using Layout =
        Fields<Field<&CmRej::local_id, at(0), 32>, Field<&CmRej::remote_id, at(4), 32>, Field<&CmRej::about, at(8), 2>,
               Reserved<at(8, 2), 6>, Field<&CmRej::information_length, at(9), 7>, Reserved<at(9, 7), 1>,
               Field<&CmRej::reason, at(10), 16>, Field<&CmRej::information, at(12), 576>,
               Field<&CmRej::private_data, at(84), 1184>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmRej> parse(Bytes packet) { return read<CmRej>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmRej&) const = default;
};

}  // namespace verbline::wire
