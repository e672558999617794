// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Single frames of a link, which the datapath completes and checks in bursts.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "datapath/link/arrival.h"
#include "datapath/link/discard.h"
#include "datapath/link/envelope.h"
#include "datapath/wire/bytes.h"

namespace verbline::test {

/// Completes a frame in place that holds BTH, payload and padding: see link::write_headers.
inline void seal_frame(std::span<std::byte> frame, const link::Envelope& envelope, std::uint16_t ip_id) {
    link::write_headers(frame, envelope, ip_id);
    link::write_crcs(frame, link::sealing_of(envelope));
}

/// The received packet, or why the datapath drops it.
inline std::expected<link::Arrival, link::Discard> open_frame(wire::Bytes frame) {
    link::Arrival arrival;
    auto wrong = link::open_headers(frame, arrival);
    if (!wrong) wrong = link::verify(frame, arrival);
    if (wrong) return std::unexpected(*wrong);
    return arrival;
}

}  // namespace verbline::test
