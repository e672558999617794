// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The server's state of one client.

#include <optional>

#include "control/hub/server.h"

namespace verbline::hub {

struct Server::Session {
    FileDescriptor fd;
    control::Watch watch;
    Time since = 0;
    std::optional<LaneId> lane;
};

}  // namespace verbline::hub
