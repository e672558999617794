// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/table_limits.h"

#include <algorithm>

#include "datapath/forward/neighbours.h"
#include "datapath/neighbour/parameters.h"

namespace verbline::gateway {
namespace {

static_assert(Limits{}.neighbours == forward::default_neighbours);
constexpr std::size_t default_memory_mb = 512;  ///< packets, rings, and tables of the default size

/// DPDK counts groups in units of 64.
constexpr std::uint32_t whole_units(std::uint32_t groups) {
    return (groups + 63) / 64 * 64;
}

std::size_t memory_of_tables(const Limits& limits) {
    return forward::Fib::memory(fib_config(limits)) + forward::Ipv6Fib::memory(ipv6_fib_config(limits));
}

}  // namespace

forward::Fib::Config fib_config(const Limits& limits) {
    constexpr std::uint32_t most = 32'704;  // with entries of 2 bytes
    return {.max_routes = limits.routes,
            .max_long = std::clamp(whole_units(limits.routes / 16), forward::Fib::Types::max_long, most),
            .max_next_hops = limits.next_hops};
}

forward::Ipv6Fib::Config ipv6_fib_config(const Limits& limits) {
    constexpr std::uint32_t for_each = 5;  // of 8 bits, from /24 to /64
    const bool more = limits.routes_ipv6 > Limits{}.routes_ipv6;
    return {.max_routes = limits.routes_ipv6,
            .max_long = more ? whole_units(for_each * limits.routes_ipv6) : forward::Ipv6Fib::Types::max_long,
            .max_next_hops = limits.next_hops};
}

std::size_t port_neighbours(const Limits& limits) {
    return std::max<std::size_t>(limits.neighbours, neighbour::Parameters{}.capacity);
}

std::size_t memory_mb(const Limits& limits) {
    const auto more = std::max(memory_of_tables(limits), memory_of_tables({})) - memory_of_tables({});
    return default_memory_mb + (more >> 20);
}

}  // namespace verbline::gateway
