// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/full_tables.h"

#include <fmt/format.h>

#include "control/gateway/table_limits.h"

namespace verbline::gateway {

void FullTables::look_after(const forward::FibCounters& ipv4, const forward::FibCounters& ipv6,
                            std::uint64_t neighbours) {
    routes("IPv4", "routes", limits_.routes, ipv4);
    routes("IPv6", "routes_ipv6", limits_.routes_ipv6, ipv6);
    if (neighbours == 0) return;
    say(fmt::format("a shard knows {} neighbours, and packets to others are dropped: raise neighbours in [limits]",
                    limits_.neighbours));
}

void FullTables::routes(std::string_view family, std::string_view setting, std::uint32_t limit,
                        const forward::FibCounters& refused) {
    if (refused.routes_refused_full.value() > 0)
        say(fmt::format("there are {} {} routes, and others of the kernel's are not used: raise {} in [limits]", limit,
                        family, setting));
    if (refused.routes_refused_next_hops.value() > 0)
        say(
            fmt::format("{} routes with more than {} next hops, or {} groups of them, are not used: raise next_hops in "
                        "[limits], or let routes share groups",
                        family, limits_.next_hops, fib_config(limits_).max_groups));
    if (refused.routes_refused_long.value() > 0)
        say(
            fmt::format("too many {} routes are longer than /24, and others of them are not used: raise {} in "
                        "[limits], or merge routes",
                        family, setting));
}

void FullTables::say(std::string line) {
    if (said_.insert(line).second) report_(line);
}

}  // namespace verbline::gateway
