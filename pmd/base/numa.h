// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The NUMA socket of a kernel interface's device, as the kernel knows it.

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace verbline {

/// None if the interface has no device of its own (a veth, a bridge), or the machine has one socket only and does not
/// number it.
inline std::optional<int> numa_socket_of_interface(const std::string& interface,
                                                   const std::filesystem::path& interfaces = "/sys/class/net") {
    std::ifstream file(interfaces / interface / "device" / "numa_node");
    int socket = -1;
    if (!(file >> socket) || socket < 0) return std::nullopt;
    return socket;
}

}  // namespace verbline
