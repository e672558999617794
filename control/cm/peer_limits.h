// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Upper bounds of what a peer can make us keep, and for how long. Times travel in five bits (4.096 us * 2^n), so a
/// peer can request up to 2 hours 26 minutes; longer times than these are clamped. Usual values are well below: Linux
/// sends 20 as response timeout, 18 as packet lifetime and 24 in MRA.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "datapath/wire/cm_req.h"
#include "pmd/base/time.h"
#include "pmd/base/tunables.h"

namespace verbline::cm {

constexpr std::uint8_t longest_response_timeout = 22;  ///< 17 s
constexpr std::uint8_t longest_service_timeout = 25;   ///< 137 s, of MRA
constexpr std::uint8_t longest_packet_lifetime = 20;   ///< 4.3 s
constexpr std::uint8_t longest_ack_delay = 20;         ///< 4.3 s

/// Half-open connections and datagram requests of peers, per manager.
constexpr std::size_t most_half_open = tunables::half_open_connections;
/// Endpoints dropped by their users that still retransmit DREQ or REJ or wait in TIMEWAIT, per manager.
constexpr std::size_t most_closing = tunables::closing_connections;

/// Requests that wait until a program listens (early_requests.h), per manager, and how long.
constexpr std::size_t most_early = 256;
constexpr Time longest_early_wait = 250 * millisecond;

/// Whether a REQ's timeouts exceed our limits.
constexpr bool exceeds_limits(const wire::CmReq& req) {
    return std::max(req.local_response_timeout, req.remote_response_timeout) > longest_response_timeout ||
           req.primary.ack_timeout > longest_packet_lifetime + 1;
}

}  // namespace verbline::cm
