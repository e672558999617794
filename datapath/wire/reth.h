// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// RDMA Extended Transport Header: remote address range of an RDMA WRITE or READ.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------------------------------------------------------+
///     |                    virtual address, 8 bytes                   |
///     +---------------------------------------------------------------+
///     |                             R_Key                             |
///     +---------------------------------------------------------------+
///     |                       DMA length, bytes                       |
///     +---------------------------------------------------------------+
///
/// IBTA volume 1, 9.3.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct Reth {
    static constexpr std::size_t size = 16;

    std::uint64_t address = 0;
    RKey rkey{};
    std::uint32_t length = 0;  ///< of the whole message

    using Layout =
        Fields<Field<&Reth::address, at(0), 64>, Field<&Reth::rkey, at(8), 32>, Field<&Reth::length, at(12), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Reth> parse(Bytes packet) { return read<Reth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Reth&) const = default;
};

}  // namespace verbline::wire
