// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DREQ: requests disconnection.
///
///     byte  0  local id       4  remote id      8  the receiver's QPN or EECN 24; reserved
///          12  private data, 220 bytes
///
/// IBTA volume 1, 12.6.10.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct CmDreq {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;   ///< the sender's
    std::uint32_t remote_id = 0;  ///< the receiver's, as far as known
    Qpn remote_qpn{};             ///< the receiver's
    std::array<std::byte, 220> private_data{};

    using Layout =
        Fields<Field<&CmDreq::local_id, at(0), 32>, Field<&CmDreq::remote_id, at(4), 32>,
               Field<&CmDreq::remote_qpn, at(8), 24>, Reserved<at(11), 8>, Field<&CmDreq::private_data, at(12), 1760>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmDreq> parse(Bytes packet) { return read<CmDreq>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmDreq&) const = default;
};

}  // namespace verbline::wire
