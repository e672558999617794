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
struct Failed {  ///< not resolved: drop queued packets; may be requested again
    wire::Gid address{};
};
struct Removed {  ///< no longer reachable; resolve again if needed
    wire::Gid address{};
};
struct Conflict {  ///< another host has a local address as well; emitted once for each
    wire::Gid address{};
    std::optional<LinkAddress> at;  ///< of that host; none: it has only probed for it
    bool lost = false;              ///< it may have had it first: ours is neither answered for nor used as a source
};
struct Yielded {  ///< a virtual address is left to another host, or no longer: emitted once for each change
    wire::Gid address{};
    bool back = false;              ///< nobody claims it any more: it is answered for again
    std::optional<LinkAddress> to;  ///< of that host; none: it has not said it, or `back`
};
using Action = std::variant<Send, Resolved, Failed, Removed, Conflict, Yielded>;
using Actions = std::vector<Action>;

}  // namespace verbline::neighbour
