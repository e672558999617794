// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Virtual eXtensible Local Area Network: an Ethernet frame behind a UDP header.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------+-+-----------------------------------------------------+
///     |reservd|1|                       reserved                      |
///     +-------+-+-------------------------------------+---------------+
///     |           VXLAN network identifier            |    reserved   |
///     +-----------------------------------------------+---------------+
///
/// RFC 7348, 5.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"

namespace verbline::wire {

constexpr std::uint16_t vxlan_port = 4789;

struct Vxlan {
    static constexpr std::size_t size = 8;

    std::uint32_t network = 0;  ///< 24 bits

    using Layout = Fields<Reserved<at(0), 4>, Constant<at(0, 4), 1, 1, Malformed::version>, Reserved<at(0, 5), 27>,
                          Field<&Vxlan::network, at(4), 24>, Reserved<at(7), 8>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Vxlan> parse(Bytes packet) { return read<Vxlan>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Vxlan&) const = default;
};

}  // namespace verbline::wire
