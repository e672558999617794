// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPoIB connected mode (RFC 4755): what the ends of a connection tell each other by the connection manager.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+-----------------------------------------------+
///     |   reserved    |            QPN of the UD queue pair           |   private data of REQ and REP
///     +---------------+-----------------------------------------------+
///     |             receive MTU: bytes of a message                   |
///     +---------------------------------------------------------------+
///
/// Each message is an IPoIB header (ipoib.h) and an IP packet.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/field.h"
#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

/// The service that an interface listens to, by the QPN of its UD queue pair. As Linux (ipoib_cm.c), not as RFC 4755,
/// 3.3, writes it: there the first byte is 1, and no peer uses that.
constexpr CmServiceId ipoib_connected_service(Qpn qpn) {
    return CmServiceId{0x1000'0000'0000'0000u | static_cast<std::uint32_t>(qpn)};
}

struct IpoibConnected {
    static constexpr std::size_t size = 8;

    Qpn qpn{};
    std::uint32_t mtu = 0;  ///< the largest message that the sender of this receives, with its IPoIB header

    using Layout =
        Fields<Reserved<at(0), 8>, Field<&IpoibConnected::qpn, at(1), 24>, Field<&IpoibConnected::mtu, at(4), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<IpoibConnected> parse(Bytes data) { return read<IpoibConnected>(data); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const IpoibConnected&) const = default;
};

}  // namespace verbline::wire
