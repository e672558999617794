// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What lies on which NUMA socket: pools of packets on those of the shards; and which ports are served from another
/// socket than their own, so that each packet crosses between the sockets.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace verbline::gateway {

struct PlacedPort {
    std::string name;
    int socket;  ///< pmd::any_numa_socket: it is as good from anywhere
};

/// For each shard one line about the ports that it serves from afar; empty if there are none. `shards`: their sockets,
/// pmd::any_numa_socket for one whose lcore may use CPUs of several.
std::vector<std::string> placement_warnings(std::span<const int> shards, std::span<const PlacedPort> ports);

/// The pools of packets: one on each socket that a shard runs on. What a shard receives and makes comes from its own
/// socket's, whichever port it is for.
struct PoolPlacement {
    struct Pool {
        int socket;       ///< pmd::any_numa_socket: wherever there is memory
        unsigned shards;  ///< that take from it
        bool operator==(const Pool&) const = default;
    };
    std::vector<Pool> pools;            ///< in the order of their first shards
    std::vector<std::size_t> by_shard;  ///< index of a shard's pool

    bool operator==(const PoolPlacement&) const = default;
};

/// `shards`: as above; at least one.
PoolPlacement place_pools(std::span<const int> shards);

}  // namespace verbline::gateway
