// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Makes changes of addresses and static routes in the kernel, all of them or none.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "control/gateway/changes.h"
#include "control/gateway/config.h"
#include "control/host/netlink.h"
#include "pmd/base/error.h"

namespace verbline::gateway {

class KernelChanges {
public:
    /// `ifindexes`: of the ports' interfaces. All outlive the object.
    KernelChanges(host::Netlink& kernel, const GatewayConfig& running, const std::vector<int>& ifindexes)
        : kernel_(kernel), running_(running), ifindexes_(ifindexes) {}

    /// What is new comes before what is old goes, so that packets find a way all the time. After an error, which is
    /// config_error() of `wanted` where a line is wrong, all is as it was.
    Result<void> make(const Changes& changes, const GatewayConfig& wanted);

private:
    Result<void> try_all(const Changes& changes, const GatewayConfig& wanted);
    Result<void> keep(const GatewayConfig& wanted);
    /// The same port as `port` of the running configuration.
    const PortConfig& port_of(const GatewayConfig& config, std::size_t port) const;
    Result<void> set(const GatewayConfig& config, const RouteConfig& route);
    Result<void> remove(const RouteConfig& route);
    void undo();

    host::Netlink& kernel_;
    const GatewayConfig& running_;
    const std::vector<int>& ifindexes_;
    std::vector<std::function<void()>> undo_;  ///< the last first
};

/// Sets a static route in the kernel. The error is config_error() of its line.
Result<void> set_route(host::Netlink& kernel, const GatewayConfig& config, const RouteConfig& route);

}  // namespace verbline::gateway
