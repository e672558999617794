// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What all programs of a node have in common, and the file of the node's directory that has it: for who shows the port
/// before a program has joined (sysfs under `verbline run`).
///
///     mac 02:00:00:00:00:07
///     address 10.1.0.1/24
///     host H2                      only of a port on a soft fabric, which is that host's
///     fabric vl
///
/// Errors are errno values with the path.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/link/interface_address.h"
#include "pmd/base/error.h"

namespace verbline::hub {

/// A port of a soft fabric.
struct FabricPlace {
    std::string host;    ///< the node whose port this is, as in ibsim's topology file
    std::string fabric;  ///< IBSIM_SOCKNAME
    bool operator==(const FabricPlace&) const = default;
};

/// The addresses of a node's port, which all its members have.
struct NodeIdentity {
    wire::MacAddress mac{};
    std::vector<link::InterfaceAddress> addresses;  ///< on a soft fabric those of IPoIB
    std::optional<FabricPlace> fabric;              ///< none: Ethernet
    bool operator==(const NodeIdentity&) const = default;
};

/// The node's directory must exist. A reader sees the old file or the new one, never a part.
Result<void> write_identity(std::string_view node, const NodeIdentity& identity);
/// None: there is no such node, or it does not run.
std::optional<NodeIdentity> read_identity(std::string_view node);
void remove_identity(std::string_view node);

}  // namespace verbline::hub
