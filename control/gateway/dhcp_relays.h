// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The DHCP relay agents of a gateway: those of IPv4 and IPv6, for the ports whose configuration names servers, which
/// may be others while it runs.
///
/// Owned by the control thread; must not outlive its loop, nor the configuration.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/dhcp_relay/relay_service.h"
#include "control/gateway/changes.h"
#include "control/gateway/config.h"
#include "control/loop/loop.h"
#include "datapath/forward/interface_id.h"
#include "datapath/link/interface_address.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"

namespace verbline::gateway {

class DhcpRelays {
public:
    /// The ports' interfaces must be there, and up. `on_trouble`: called with one line when a port can no longer be
    /// served.
    static Result<DhcpRelays> open(control::Loop& loop, const GatewayConfig& config,
                                   std::function<void(const std::string& line)> on_trouble);

    // While the gateway runs. An error is one line, and nothing has changed.

    /// What `changes` will have the ports relay, ready to do so. The error is config_error() of the line.
    struct Prepared {
        std::vector<dhcp::Ipv4RelayService::Prepared> ipv4;
        std::vector<dhcp::Ipv6RelayService::Prepared> ipv6;
    };
    Result<Prepared> prepare(const Changes& changes, const GatewayConfig& running, const GatewayConfig& wanted);
    /// To be used at once (relay_service.h). The ports are then to be told their addresses.
    void use(Prepared prepared);

    /// The kernel's addresses of a port have changed. Servers are given one that is this gateway's alone, if there is
    /// one, not one that another gateway may have when they answer.
    void set_addresses(forward::InterfaceId port, const std::vector<link::InterfaceAddress>& addresses);

    /// Those of a port; none, if it has no relay agent.
    void counters(forward::InterfaceId port, const CounterVisitor& visit) const;

private:
    explicit DhcpRelays(const GatewayConfig& config) : config_(&config) {}

    const GatewayConfig* config_;
    std::unique_ptr<dhcp::Ipv4RelayService> ipv4_;
    std::unique_ptr<dhcp::Ipv6RelayService> ipv6_;
};

}  // namespace verbline::gateway
