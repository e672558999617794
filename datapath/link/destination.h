// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A link-layer destination: built by the control thread when a neighbour is resolved, and copied in front of each
/// packet.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/address_handle.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::link {

/// The bytes in front of a packet: Ethernet alone, or Ethernet, LRH, GRH, BTH, DETH and IPoIB (86 bytes at most).
struct Header {
    static constexpr std::size_t capacity = 88;

    std::array<std::byte, capacity> bytes{};
    std::uint8_t size = 0;

    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
    /// Appends `n` bytes and returns them for writing. The caller must stay within `capacity`.
    wire::MutableBytes append(std::size_t n) {
        const auto at = wire::MutableBytes(bytes).subspan(size, n);
        size = static_cast<std::uint8_t>(size + n);
        return at;
    }
};

struct Destination {
    Header header;                ///< for devices that carry frames
    wire::AddressHandle address;  ///< the three below: for devices that carry datagrams
    wire::Qpn qpn{};
    wire::QKey qkey{};
};

}  // namespace verbline::link
