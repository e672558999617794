// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Names of states, as in the standard and in Linux.

#include <array>
#include <cstddef>

#include "control/cm/state.h"

namespace verbline::cm {

constexpr const char* state_name(ConnectionState state) {
    constexpr std::array names{"IDLE",         "LISTEN",    "REQ_SENT", "REQ_RCVD",      "MRA_REQ_SENT",
                               "MRA_REQ_RCVD", "REP_SENT",  "REP_RCVD", "MRA_REP_SENT",  "MRA_REP_RCVD",
                               "ESTABLISHED",  "DREQ_SENT", "TIMEWAIT", "SIDR_REQ_SENT", "SIDR_REQ_RCVD"};
    static_assert(names.size() == static_cast<std::size_t>(ConnectionState::sidr_req_received) + 1);
    return names[static_cast<std::size_t>(state)];
}

}  // namespace verbline::cm
