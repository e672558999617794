// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables `cm` and `counters` of a program, for `verbline show`.

#include <memory>
#include <span>

#include "apps/libibverbs/ucma/port_network.h"
#include "control/rdmacm/service.h"
#include "control/telemetry/server.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

using Networks = std::span<const std::unique_ptr<PortNetwork>>;

/// A row for each id, with the state of its endpoint in the connection manager. Requires the service.
telemetry::Json cm_table(const rdmacm::Service& service, Networks ports, Time now);
telemetry::Json counter_table(const rdmacm::Service& service, Networks ports);

}  // namespace verbline::verbs
