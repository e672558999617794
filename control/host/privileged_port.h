// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Port numbers that the kernel gives to the privileged only (net.ipv4.ip_unprivileged_port_start, 1024 unless it was
/// changed; capabilities(7), CAP_NET_BIND_SERVICE).

#include <cstdint>

#include "pmd/base/error.h"

namespace verbline::host {

/// EACCES: the calling thread may not bind to `port` in its network namespace. 0, any port, everybody may. Any thread.
Result<void> may_bind(std::uint16_t port);

}  // namespace verbline::host
