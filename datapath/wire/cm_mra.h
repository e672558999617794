// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MRA: a message was received, and the answer will take longer.
///
///     byte  0  local id       4  remote id      8  about 2 bits, reserved 6      9  service timeout 5 bits, reserved 3
///          10  private data, 222 bytes
///
/// IBTA volume 1, 12.6.6.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"

namespace verbline::wire {

struct CmMra {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;   ///< the sender's
    std::uint32_t remote_id = 0;  ///< the receiver's, as far as known
    CmAbout about{};
    std::uint8_t service_timeout = 0;  ///< time until the answer, from this MRA on: 4.096 us * 2^n
    std::array<std::byte, 222> private_data{};

    using Layout =
        Fields<Field<&CmMra::local_id, at(0), 32>, Field<&CmMra::remote_id, at(4), 32>, Field<&CmMra::about, at(8), 2>,
               Reserved<at(8, 2), 6>, Field<&CmMra::service_timeout, at(9), 5>, Reserved<at(9, 5), 3>,
               Field<&CmMra::private_data, at(10), 1776>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmMra> parse(Bytes packet) { return read<CmMra>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmMra&) const = default;
};

}  // namespace verbline::wire
