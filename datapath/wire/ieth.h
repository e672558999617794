// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Invalidate Extended Transport Header: the R_Key that a SEND with Invalidate takes back. IBTA volume 1, 9.3.
///
///     +---------------------------------------------------------------+
///     |                             R_Key                             |
///     +---------------------------------------------------------------+

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct Ieth {
    static constexpr std::size_t size = 4;

    RKey rkey{};

    using Layout = Fields<Field<&Ieth::rkey, at(0), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Ieth> parse(Bytes packet) { return read<Ieth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Ieth&) const = default;
};

}  // namespace verbline::wire
