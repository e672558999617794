// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Check of privileged port numbers (net.ipv4.ip_unprivileged_port_start, 1024 by default; capabilities(7),
/// CAP_NET_BIND_SERVICE).

#include <cstdint>

#include "pmd/base/error.h"

namespace verbline::host {

/// EACCES: the calling thread may not bind to `port` in its network namespace. Port 0 (any) is always allowed. Any
/// thread.
Result<void> may_bind(std::uint16_t port);

}  // namespace verbline::host
