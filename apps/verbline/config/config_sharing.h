// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checks of a configuration: which ports may have a device, or a way to the subnet manager, in common, and backups.

#include <optional>
#include <string>
#include <vector>

#include "apps/verbline/config/config.h"

namespace verbline::cli {

/// An error of the configuration, and its line. As a Verdict: none if the configuration is valid.
struct Fault {
    unsigned line;
    std::string reason;
};
using Verdict = std::optional<Fault>;

/// A device belongs to one port, once, or to one port for each VLAN or partition.
Verdict check_devices(const std::vector<PortConfig>& ports);
/// A port of a subnet has one LID, so it cannot be at two places.
Verdict check_subnets(const PortConfig& earlier, const PortConfig& later);

/// A backup is a port of an InfiniBand subnet as the first is, and both carry frames.
Verdict check_backup(const PortConfig& port);
/// A port with a backup shares neither of the two with others.
Verdict check_backups(const std::vector<PortConfig>& ports);

}  // namespace verbline::cli
