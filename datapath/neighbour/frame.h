// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages (message.h) as whole Ethernet frames, from the Ethernet header on.
///
/// Functions of their arguments.

#include <array>
#include <cstddef>
#include <optional>

#include "datapath/neighbour/message.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

/// A frame to send.
struct Frame {
    static constexpr std::size_t capacity = 86;  ///< an NS or NA with its option

    std::array<std::byte, capacity> bytes{};
    std::size_t size = 0;

    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
};

/// Parses a frame. Anything but ARP, NS and NA is `other`.
Read read_frame(wire::Bytes frame);

/// Writes a message from the MAC address `message.at`: unicast to `to`, or else multicast or broadcast.
Frame write_frame(const Message& message, const std::optional<wire::MacAddress>& to = std::nullopt);

}  // namespace verbline::neighbour
