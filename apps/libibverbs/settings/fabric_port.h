// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The port of a host on a soft InfiniBand fabric: configured by the subnet manager; a hub of the fabric's name carries
/// its packets.
///
/// Both calls block for some seconds at most. Errors are one line with what to do.

#include <optional>
#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "control/hub/client.h"
#include "control/mad/port_facts.h"

namespace verbline::verbs {

/// The port of a soft fabric that a link is on, a node's as well; none: it is on Ethernet, or the node does not run.
std::optional<InfinibandLink> fabric_of(const Link& link);

/// ENETDOWN: no subnet manager has brought the port up.
Result<mad::PortFacts> fabric_port(const InfinibandLink& link);

/// The same of a node's port, which the node is asked for. EOPNOTSUPP: it is on Ethernet.
Result<mad::PortFacts> fabric_port(const NodeLink& link);

/// Joins the hub as the port's lane, with the MAC address derived from its LID. `addresses` are those of IPoIB; if
/// empty, the hub chooses. EADDRINUSE: another program has the port, or one of the addresses.
Result<hub::Lane> join_fabric(const InfinibandLink& link, const wire::MacAddress& mac,
                              const std::vector<InterfaceAddress>& addresses = {});

}  // namespace verbline::verbs
