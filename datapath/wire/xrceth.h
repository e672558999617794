// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// XRC Extended Transport Header: number of the shared receive queue that an XRC request is for. Directly behind the
/// BTH of every XRC request packet; responses have none. IBTA volume 1, annex A14.
///
///     +---------------+-----------------------------------------------+
///     |    reserved   |                    XRC SRQ                    |
///     +---------------+-----------------------------------------------+

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct XrcEth {
    static constexpr std::size_t size = 4;

    std::uint32_t srq = 0;  ///< 24 bits

    using Layout = Fields<Reserved<at(0), 8>, Field<&XrcEth::srq, at(1), 24>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<XrcEth> parse(Bytes packet) { return read<XrcEth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const XrcEth&) const = default;
};

}  // namespace verbline::wire
