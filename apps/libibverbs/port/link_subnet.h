// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet behind the port of a node on a soft fabric, which the node asks for all its programs.
///
/// Threads: any; nothing blocks.

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "apps/libibverbs/link/link.h"
#include "control/hub/client.h"

namespace verbline::verbs {

class LinkSubnet {
public:
    /// `hub_mutex` serialises requests to the node, which other parts of the port make, too.
    LinkSubnet(const OpenedLink& link, std::mutex& hub_mutex) : link_(link), mutex_(hub_mutex) {}
    LinkSubnet(const LinkSubnet&) = delete;
    LinkSubnet& operator=(const LinkSubnet&) = delete;

    /// False: the node takes nothing now; ask again.
    bool ask(const hub::SubnetQuestion& question);
    /// What the node has said since the last call; nothing while another thread talks to it.
    hub::SubnetNews take();
    /// Joins all groups again at a node that knows of none. Requires the hub's mutex.
    void restore() const;

private:
    const OpenedLink& link_;
    std::mutex& mutex_;
    std::map<std::pair<wire::Gid, std::uint32_t>, hub::JoinSubnetGroup> joined_;  ///< by group and user
};

}  // namespace verbline::verbs
