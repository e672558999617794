// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables that a gateway's Limits make, and the memory that these take.

#include <cstddef>
#include <cstdint>

#include "control/gateway/config.h"
#include "datapath/forward/fib.h"

namespace verbline::gateway {

/// IPv4: prefixes longer than /24 may be of as many /24s as a 16th of the routes; of 1,024 at least, 32,704 at most.
forward::Fib::Config fib_config(const Limits& limits);
/// IPv6: with more routes than by default, all may be /64s; else those of 16,384 steps of 8 bits behind the first 24.
forward::Ipv6Fib::Config ipv6_fib_config(const Limits& limits);

/// Neighbours that the control thread keeps of one port; never fewer than it does by default.
std::size_t port_neighbours(const Limits& limits);

/// Memory of DPDK's that a gateway with these limits takes at most, in MB. The shards' neighbours are not in it.
std::size_t memory_mb(const Limits& limits);

}  // namespace verbline::gateway
