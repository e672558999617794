// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/placement.h"

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

}  // namespace verbline::gateway
