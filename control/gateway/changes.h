// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What of another configuration a running gateway can change to: addresses and static routes, which are the kernel's,
/// where the gateway follows them, the ports' packet programs, and some settings of ports. All else is set when it
/// starts.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "control/gateway/config.h"
#include "datapath/link/interface_address.h"
#include "pmd/base/error.h"

namespace verbline::gateway {

/// What a running port can be told otherwise.
enum class Setting : std::uint8_t {
    clamp_mss,
    reverse_path,
    proxy,
    multicast,
    virtual_address,
    advertise,
    dhcp_relay,
    dhcpv6_relay,
    impair,
    capture
};

struct Changes {
    struct PortAddress {
        std::size_t port;  ///< index in the running configuration
        link::InterfaceAddress address;
        bool operator==(const PortAddress&) const = default;
    };
    struct PortSetting {
        std::size_t port;  ///< likewise
        Setting setting;
        bool operator==(const PortSetting&) const = default;
    };
    struct RouteChange {
        const RouteConfig* before = nullptr;  ///< null: a new route
        const RouteConfig* after = nullptr;   ///< null: there is none any more
    };

    std::vector<PortAddress> added, removed;
    std::vector<RouteChange> routes;
    std::vector<std::size_t> programs;  ///< ports with another file or section, or none; index as above

    std::vector<PortSetting> settings;

    bool empty() const {
        return added.empty() && removed.empty() && routes.empty() && programs.empty() && settings.empty();
    }
};

/// From `running` to `wanted`, both checked, which must outlive the changes. EBUSY: config_error() about the first
/// setting that differs and cannot be changed.
Result<Changes> changes_between(const GatewayConfig& running, const GatewayConfig& wanted);

/// The key of the file.
std::string_view to_string(Setting setting);
/// "2 addresses added, 1 route removed, dhcp_relay of port lan changed"; "nothing to change". `running` has the ports.
std::string to_string(const Changes& changes, const GatewayConfig& running);

/// Makes the changes part of `running`, as they are of `wanted`; what is not in them has not moved.
void adopt(GatewayConfig& running, const GatewayConfig& wanted);

}  // namespace verbline::gateway
