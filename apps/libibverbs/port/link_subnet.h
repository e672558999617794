// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet behind the port of a node on a soft fabric, which the node asks for all its programs, and what the node
/// says of the port.
///
/// Threads: any; nothing blocks.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "apps/libibverbs/link/link.h"
#include "control/hub/client.h"

namespace verbline::verbs {

class LinkSubnet {
public:
    /// Called in the order in which the node has said it, on the thread that calls `look` or `take`.
    using OnPort = std::function<void(const hub::SubnetPort& now)>;

    /// `hub_mutex` serialises requests to the node, which other parts of the port make, too.
    LinkSubnet(const OpenedLink& link, std::mutex& hub_mutex, OnPort on_port = {})
        : link_(link), mutex_(hub_mutex), on_port_(std::move(on_port)) {}
    LinkSubnet(const LinkSubnet&) = delete;
    LinkSubnet& operator=(const LinkSubnet&) = delete;

    /// False: the node takes nothing now; ask again.
    bool ask(const hub::SubnetQuestion& question);
    /// Looks what the node has said of the port; nothing while another thread talks to it.
    void look();
    /// What the node has said since the last call; nothing while another thread talks to it.
    hub::SubnetNews take();
    /// Joins all groups again at a node that knows of none, and asks for its port. Requires the hub's mutex.
    void restore() const;

private:
    const OpenedLink& link_;
    std::mutex& mutex_;
    const OnPort on_port_;
    std::mutex order_mutex_;                 ///< before the hub's
    std::optional<hub::SubnetPort> unread_;  ///< as `look` has found it, for `take`
    std::map<std::pair<wire::Gid, std::uint32_t>, hub::JoinSubnetGroup> joined_;  ///< by group and user
};

}  // namespace verbline::verbs
