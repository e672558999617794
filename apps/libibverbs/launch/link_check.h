// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checks that the kernel offers what a link needs, and that this user may use it: interfaces, sockets, capabilities,
/// huge pages.

#include <span>

#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

/// For memif, eth, tap and dpdk. `addresses` are those that the link is to have. The error does not name the link.
Result<void> check_local_link(const Link& link, std::span<const InterfaceAddress> addresses);

/// True if opening the link takes capabilities that a process loses in a user namespace of its own.
bool needs_privilege(const Link& link);

}  // namespace verbline::verbs
