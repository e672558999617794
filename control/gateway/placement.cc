// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/placement.h"

#include <algorithm>

#include <fmt/format.h>

#include "pmd/netdev.h"

namespace verbline::gateway {
namespace {

std::string warning(int shard, std::span<const PlacedPort> ports) {
    std::string text;
    if (shard == pmd::any_numa_socket) return text;
    for (const auto& port : ports) {
        if (port.socket == pmd::any_numa_socket || port.socket == shard) continue;
        text += fmt::format("{}port {} (socket {}) is served from socket {}", text.empty() ? "" : "; ", port.name,
                            port.socket, shard);
    }
    return text;
}

}  // namespace

std::vector<std::string> placement_warnings(std::span<const int> shards, std::span<const PlacedPort> ports) {
    std::vector<std::string> warnings;
    for (const int shard : shards) warnings.push_back(warning(shard, ports));
    return warnings;
}

PoolPlacement place_pools(std::span<const int> shards) {
    PoolPlacement placement;
    auto& pools = placement.pools;
    for (const int socket : shards) {
        auto pool = std::ranges::find(pools, socket, &PoolPlacement::Pool::socket);
        if (pool == pools.end()) pool = pools.insert(pool, {socket, 0});
        ++pool->shards;
        placement.by_shard.push_back(static_cast<std::size_t>(pool - pools.begin()));
    }
    return placement;
}

}  // namespace verbline::gateway
