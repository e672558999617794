// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Immediate data: 32 bits from the sender, delivered in the receiver's completion. IBTA volume 1, 9.3.
///
///     +---------------------------------------------------------------+
///     |                         immediate data                        |
///     +---------------------------------------------------------------+

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct ImmDt {
    static constexpr std::size_t size = 4;

    std::uint32_t data = 0;

    using Layout = Fields<Field<&ImmDt::data, at(0), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<ImmDt> parse(Bytes packet) { return read<ImmDt>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const ImmDt&) const = default;
};

}  // namespace verbline::wire
