// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The port of a host on a soft InfiniBand fabric: the subnet manager says what it is, and a hub of the fabric's name
/// carries its packets.
///
/// Both calls block for some seconds at most. Errors are one line that says what to do.

#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "control/hub/client.h"
#include "control/mad/port_facts.h"

namespace verbline::verbs {

/// ENETDOWN: no subnet manager has brought the port up.
Result<mad::PortFacts> fabric_port(const InfinibandLink& link);

/// The port's lane of the hub, by the MAC address that is its LID's. `addresses` are those of IPoIB; none: the hub
/// chooses. EADDRINUSE: another program has the port, or one of the addresses.
Result<hub::Lane> join_fabric(const InfinibandLink& link, const mad::PortFacts& port,
                              const std::vector<InterfaceAddress>& addresses = {});

}  // namespace verbline::verbs
