// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Actions of a neighbour engine, which its caller carries out.

#include <optional>
#include <variant>
#include <vector>

#include "datapath/neighbour/message.h"

namespace verbline::neighbour {

struct Send {
    Message message;
    std::optional<LinkAddress> to;  ///< none: broadcast, or the message's multicast group
};
struct Resolved {
    wire::Gid address{};
    LinkAddress link;
};
struct Failed {  ///< not resolved: drop queued packets; may be asked for again
    wire::Gid address{};
};
struct Removed {  ///< no longer reachable; ask again if needed
    wire::Gid address{};
};
using Action = std::variant<Send, Resolved, Failed, Removed>;
using Actions = std::vector<Action>;

}  // namespace verbline::neighbour
