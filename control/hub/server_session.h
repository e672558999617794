// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The server's state of one client.

#include <map>
#include <optional>

#include "control/hub/server.h"

namespace verbline::hub {

struct Server::Session {
    FileDescriptor fd;
    control::Watch watch;
    Time since = 0;
    std::optional<LaneId> lane;
    std::map<wire::Qpn, XrcTarget> untold;  ///< while its socket is full: the newest of each
    FileDescriptor descriptor;              ///< that came with the message being served
};

}  // namespace verbline::hub
