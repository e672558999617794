// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Multicast between the ports of a gateway: passes the listeners of each port to GroupRoutes, its routes to the
/// shards, and the groups to receive and send to back to each port (control/multicast/group_routes.h).
///
/// Owned by the control thread; must not outlive the ports.

#include <memory>
#include <string_view>
#include <vector>

#include "control/gateway/gateway_port.h"
#include "control/multicast/group_routes.h"
#include "control/router/shard_links.h"

namespace verbline::gateway {

class Multicast {
public:
    using Ports = std::vector<std::unique_ptr<GatewayPort>>;

    /// Follows the ports, which have been started. `routes`: a gateway, not a host.
    Multicast(const Ports& ports, router::ShardLinks& shards, bool routes);
    Multicast(const Multicast&) = delete;
    Multicast& operator=(const Multicast&) = delete;
    ~Multicast();

    /// The configuration says otherwise than before whether groups are routed from and to the port.
    void change(const GatewayPort& port);

    const multicast::GroupRoutes& routes() const { return routes_; }

private:
    void follow(GatewayPort& port);
    void unknown(const wire::Gid& group);
    void compare(const GatewayPort& port);
    void perform(const multicast::RouteActions& actions);
    void set(const wire::Gid& group, forward::InterfaceId port, multicast::Side side, bool listening);

    const Ports& ports_;
    router::ShardLinks& shards_;
    bool gateway_;
    multicast::GroupRoutes routes_;
    std::vector<wire::Gid> asked_;  ///< lately, about groups without routes; the oldest first
};

/// Whether a port takes part in routing of groups.
bool routes_multicast(const GatewayPort& port, bool gateway);

}  // namespace verbline::gateway
