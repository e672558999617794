// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of a running gateway, for `verbline show`.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/gateway/config.h"
#include "control/gateway/dhcp_relays.h"
#include "control/gateway/gateway_port.h"
#include "control/gateway/multicast.h"
#include "control/gateway/programs.h"
#include "control/gateway/shards.h"
#include "control/router/kernel_follower.h"
#include "control/router/proxying.h"
#include "control/router/shard_links.h"
#include "control/telemetry/server.h"
#include "datapath/forward/fib.h"

namespace verbline::gateway {

/// The objects that the tables are read from. Valid during one query.
struct View {
    const GatewayConfig& config;
    const std::vector<std::unique_ptr<GatewayPort>>& ports;
    const forward::Fib& fib;
    const forward::Ipv6Fib& ipv6_fib;
    const host::Ipv6Gateways& ipv6_gateways;
    const Shards& shards;
    const std::vector<std::string>& warnings;  ///< of where each shard runs; empty: none
    const router::ShardLinks& links;
    const Multicast& multicast;
    const Programs& programs;
    const router::KernelFollower& follower;
    const router::Proxying* proxying = nullptr;  ///< null: no port has proxies
    const DhcpRelays& dhcp_relays;
    Time now = 0;
};

/// `view` is called on the control thread, once for each query.
std::vector<telemetry::Table> tables(std::function<View()> view);

}  // namespace verbline::gateway
