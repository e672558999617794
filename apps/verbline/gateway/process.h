// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The process of `verbline gateway` and `verbline host`: control/gateway with DPDK, signals and what is printed.

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "apps/verbline/command_line/command.h"
#include "apps/verbline/config/config.h"

namespace verbline::cli {

struct GatewayOptions {
    GatewayConfig config;  ///< checked
    /// The file that `read_again` reads, on SIGHUP; empty: none, and SIGHUP ends it.
    std::string file{};
    std::function<std::expected<GatewayConfig, Failure>()> read_again{};
    std::vector<std::string> eal_arguments;  ///< the user's; empty: the embedded ones (eal.h)
    std::string capture;                     ///< pcapng of all ports; empty: none
    bool deliver_all_to_kernel = false;      ///< a host
};

/// Starts, prints a line that ends in "ready" when traffic can flow, and runs until SIGINT or SIGTERM, both of which it
/// handles: then it leaves its multicast groups, removes its interfaces and returns success.
///
/// A failure before "ready" leaves nothing behind. If the configuration does not fit the running port (P_Key not in its
/// table, MTU above the link's), it is config_error() with the port's lines, and Failure::usage; all else is
/// Failure::run_time.
Outcome run_gateway(const GatewayOptions& options);

}  // namespace verbline::cli
