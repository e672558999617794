// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which ports are served from another NUMA socket than their own: each packet then crosses between the sockets.

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

}  // namespace verbline::gateway
