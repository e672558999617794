// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A MAD for QP1 in its frame, on any carrier, and the headers in front of it by which another one is sent the same
/// way.
///
/// All MADs have 256 bytes, so that of a copied header only the CRCs change. Pure functions; byte order is the wire's.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "control/mad/transport.h"
#include "datapath/link/envelope.h"
#include "datapath/wire/bytes.h"

namespace verbline::node {

/// From the Ethernet header through the DETH.
struct GsiHeaders {
    static constexpr std::size_t capacity = 14 + 4 + 8 + 40 + 8 + 12 + 8;

    link::Carrier carrier{};
    std::uint8_t covered_at = 0;  ///< where the ICRC begins
    std::uint8_t network_at = 0;  ///< the IP header or GRH; of a packet without one, the LRH
    bool global = true;           ///< false only on the soft fabric, without a GRH
    std::uint8_t size = 0;
    std::array<std::byte, capacity> bytes{};

    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
    std::size_t frame_size() const { return size + wire::mad_size + link::trailer_size(carrier); }
};

struct GsiFrame {
    GsiHeaders headers;
    mad::MadBytes mad;  ///< in the frame
};

/// None: not a valid packet (link/arrival.h), or none with a MAD for QP1.
std::optional<GsiFrame> open_gsi_frame(wire::Bytes frame);

/// Those of an answer: the addresses of all layers exchanged.
GsiHeaders reversed(const GsiHeaders& headers);

/// `frame` has headers.frame_size() bytes.
void write_gsi_frame(const GsiHeaders& headers, mad::MadBytes mad, wire::MutableBytes frame);

}  // namespace verbline::node
