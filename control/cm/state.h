// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// State of an endpoint, and its communication id.

#include <cstdint>

namespace verbline::cm {

enum class CommunicationId : std::uint32_t {};  ///< never 0, which means "not known yet"

/// IBTA volume 1, 12.9.7 and 12.11; `verbline show cm` shows them.
enum class ConnectionState : std::uint8_t {
    idle,  ///< ended: rejected, timed out, or closed and TIMEWAIT over
    listen,
    req_sent,
    req_received,
    mra_req_sent,
    mra_req_received,
    rep_sent,
    rep_received,
    mra_rep_sent,
    mra_rep_received,
    established,
    dreq_sent,
    timewait,
    sidr_req_sent,
    sidr_req_received,
};

/// Whether a connection is open, or opening.
constexpr bool open(ConnectionState state) {
    return state >= ConnectionState::req_sent && state <= ConnectionState::established;
}

}  // namespace verbline::cm
