// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Parses the headers in the first 40 bytes of a datagram's receive buffer into the reverse path to its sender.
///
///     InfiniBand, RoCE v1, RoCE v2 over IPv6    | GRH or IPv6 header, 40 bytes             |
///     RoCE v2 over IPv4                         | undefined, 20 bytes | IPv4 header, 20    |
///
/// IBTA annex A17. The layout is not signalled and must be recognised from the bytes, which are untrusted.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/wire/grh.h"
#include "datapath/wire/types.h"

namespace verbline::link {

struct ReversePath {
    wire::Gid peer{}, ours{};  ///< IPv4 addresses are mapped
    std::uint32_t flow_label = 0;
    std::uint8_t traffic_class = 0;  ///< over IP without the two ECN bits
    bool udp = false;                ///< RoCE v2

    bool operator==(const ReversePath&) const = default;
};

/// Returns `nullopt` if the bytes are neither layout.
std::optional<ReversePath> reverse_path(std::span<const std::byte, wire::Grh::size> area);

}  // namespace verbline::link
