// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What of a running node can change: who may join, quotas, and the addresses of its port, where they are its own.
/// Programs that have joined stay, and keep what they have.
///
/// Control thread.

#include <optional>
#include <string>
#include <vector>

#include "apps/verbline/hub/hub_process.h"
#include "apps/verbline/node/shared_port.h"
#include "control/hub/directory.h"
#include "control/hub/registry.h"
#include "control/hub/server.h"
#include "datapath/link/interface_address.h"
#include "pmd/base/error.h"

namespace verbline::cli {

class NodeSettings {
public:
    /// `now`: a node's. `port` and `server` must outlive the object.
    NodeSettings(const HubOptions& now, SharedPort& port, hub::Server& server);

    /// Of `wanted`, all or nothing: returns what has changed, in words. EBUSY: addresses that cannot change.
    Result<std::string> change_to(const HubOptions& wanted);

private:
    using Addresses = std::vector<link::InterfaceAddress>;

    Result<void> may_change_to(const Addresses& wanted) const;

    const std::string name_;
    SharedPort& port_;
    hub::Server& server_;
    std::optional<hub::Access> access_;
    hub::Quotas quotas_;
    Addresses addresses_;
};

}  // namespace verbline::cli
