// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of a running router, for `verbline show`.

#include <functional>
#include <memory>
#include <vector>

#include "apps/verbline/config/config.h"
#include "apps/verbline/gateway/router_port.h"
#include "control/router/kernel_follower.h"
#include "control/telemetry/server.h"
#include "datapath/forward/fib.h"
#include "datapath/router/shard.h"

namespace verbline::cli {

/// The objects that the tables are read from. Valid during one query.
struct RouterView {
    const GatewayConfig& config;
    const std::vector<std::unique_ptr<RouterPort>>& ports;
    const forward::Fib& fib;
    const router::Shard& shard;
    const router::KernelFollower& follower;
    Time now = 0;
};

/// `view` is called on the control thread, once for each query.
std::vector<telemetry::Table> router_tables(std::function<RouterView()> view);

}  // namespace verbline::cli
