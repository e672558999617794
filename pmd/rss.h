// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Receive-side scaling: the Toeplitz hash of addresses and ports, and a redirection table from the hash's low bits to
/// receive queues. From it a sender can compute which source port makes a flow arrive at a given queue.

#include <cstdint>
#include <vector>

namespace verbline::pmd {

struct RssTable {
    std::vector<std::uint8_t> key;      ///< of the hash: 40 bytes or more
    std::vector<std::uint16_t> queues;  ///< redirection table; its size is a power of two
    bool udp_ports = true;              ///< ports of UDP packets are hashed, too; else addresses alone
};

}  // namespace verbline::pmd
