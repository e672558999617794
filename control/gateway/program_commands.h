// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Requests of `verbline program` (control/telemetry/command_server.h):
///
///     {"command": "program_load", "port": "lan", "file": "/etc/verbline/drop.o", "section": ""}
///     {"command": "program_replace", "port": "lan", "file": "...", "section": "..."}
///     {"command": "program_unload", "port": "lan"}
///     {"command": "program_prefix_add", "port": "lan", "prefixes": ["10.9.0.0/16", "fd76:9::/32"], "value": 1}
///     {"command": "program_prefix_delete", "port": "lan", "prefixes": ["10.9.0.0/16"]}

#include <string>

#include <nlohmann/json.hpp>

#include "control/gateway/programs.h"
#include "pmd/base/error.h"

namespace verbline::gateway {

/// Carries a request out, which is not trusted. Returns a line about what was done; after an error nothing was.
Result<std::string> run_program_command(Programs& programs, const nlohmann::ordered_json& request);

}  // namespace verbline::gateway
