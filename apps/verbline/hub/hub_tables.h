// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of a running hub, for `verbline show`: its ports, its shards, shared XRC targets, and every counter.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apps/verbline/hub/hub_shards.h"
#include "apps/verbline/node/shared_port.h"
#include "control/hub/registry.h"
#include "control/hub/server.h"
#include "control/loop/acceptor.h"
#include "control/telemetry/server.h"
#include "pmd/bridge/switch.h"

namespace verbline::cli {

/// The objects that the tables are read from. Valid during one query.
struct HubView {
    const hub::Registry& registry;
    const pmd::Switch& fabric;
    const std::map<hub::LaneId, pmd::Switch::PortId>& lanes;
    const std::map<std::string, pmd::Switch::PortId>& uplinks;  ///< by device
    const control::AcceptorCounters& clients;
    const hub::DirectCounters& direct;
    const hub::XrcRegistry& xrc;
    const HubShards& shards;
    const SharedPort* node;  ///< null: it is a hub
    Time now;
};

/// `view` is called on the control thread, once for each query.
std::vector<telemetry::Table> hub_tables(const std::function<HubView()>& view);

}  // namespace verbline::cli
