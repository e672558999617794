// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A running hub or node: a switch on a poll thread or several, and the registry of lanes on the control thread.

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/verbline/command_line/command.h"
#include "apps/verbline/node/shared_port.h"
#include "control/hub/directory.h"
#include "control/hub/registry.h"
#include "datapath/link/interface_address.h"
#include "pmd/factory/device_spec.h"
#include "pmd/impair/spec.h"

namespace verbline::cli {

struct HubOptions {
    static constexpr std::uint16_t default_mtu = 4200;  ///< RoCE's headers around a path MTU of 4096

    std::string name;
    std::optional<NodeOptions> node;  ///< a node: one port, whose addresses all programs have; none: a hub
    std::vector<pmd::DeviceSpec> uplinks;
    std::vector<link::InterfaceAddress> subnets;  ///< a client that names no address gets one of each
    std::uint16_t mtu = 0;  ///< behind the Ethernet header; 0: default_mtu, or less if an uplink has less
    /// Lanes that have one of these addresses may send from any source address.
    std::vector<wire::Gid> routers;
    bool any_source = false;  ///< all lanes may do so
    hub::Quotas quotas;
    std::optional<hub::Access> access;       ///< of other users; none
    bool direct = true;                      ///< programs of a user may have links without the hub
    std::string capture;                     ///< pcapng; empty: none
    std::optional<pmd::ImpairSpec> impair;   ///< of each lane
    std::vector<std::string> eal_arguments;  ///< the user's; empty: the embedded ones (eal.h)
    /// Of a node: the file that `read_again` reads, on SIGHUP; empty: none, and SIGHUP ends it. Of what it returns, the
    /// port's addresses, `quotas` and `access` are used; what else differs it has to refuse.
    std::string file;
    std::function<std::expected<HubOptions, Failure>()> read_again;
};

/// Starts, prints a line that ends in "ready", and runs until SIGINT or SIGTERM, both of which it handles.
Outcome run_hub(const HubOptions& options);

}  // namespace verbline::cli
