// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a gateway or host is to do, from gateway.toml (config/gateway.toml explains every key).
///
/// Reading is strict: an unknown key, a wrong type, a value out of range or two settings that contradict each other are
/// errors, each one line `FILE:LINE: reason`. What depends on the running port (its P_Key table, the MTU of its link)
/// is checked at start by control/gateway.

#include <string>
#include <string_view>

#include "control/gateway/config.h"
#include "datapath/link/interface_address.h"
#include "pmd/base/error.h"

namespace verbline::cli {

using gateway::config_error, gateway::default_mtu, gateway::GatewayConfig, gateway::IpoibLink, gateway::PortConfig,
    gateway::PortType, gateway::RouteConfig, gateway::usual_mtu;

/// Reads and checks the file.
Result<GatewayConfig> load_config(const std::string& file);
/// Like `load_config`, for the text of a file, which need not be trusted.
Result<GatewayConfig> parse_config(std::string_view text, const std::string& file);

/// Checks that a configuration whose parts are well-formed does not contradict itself.
Result<void> check_config(const GatewayConfig& config);

/// "10.1.0.1/24", "fd76:1::1/64": an address that an interface can have.
Result<link::InterfaceAddress> parse_interface_address(std::string_view text);

}  // namespace verbline::cli
