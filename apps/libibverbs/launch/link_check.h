// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Whether the kernel has what a link needs, and lets this user have it: interfaces, sockets, capabilities, huge pages.

#include <span>

#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

/// For memif, eth, tap and dpdk. `addresses` are those that the link is to have. The error does not name the link.
Result<void> check_local_link(const Link& link, std::span<const InterfaceAddress> addresses);

/// Whether opening it takes rights that a user namespace of one's own would take away.
bool needs_privilege(const Link& link);

}  // namespace verbline::verbs
