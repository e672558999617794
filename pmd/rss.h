// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How a device spreads what it receives over its queues: the Toeplitz hash of addresses and ports, and a table from
/// the hash's low bits to queues. Who knows it can choose ports, or numbers that ports are made from, so that a flow
/// comes to the queue that wants it.

#include <cstdint>
#include <vector>

namespace verbline::pmd {

struct RssTable {
    std::vector<std::uint8_t> key;      ///< of the hash: 40 bytes or more
    std::vector<std::uint16_t> queues;  ///< redirection table; its size is a power of two
    bool udp_ports = true;              ///< ports of UDP packets are hashed, too; else addresses alone
};

}  // namespace verbline::pmd
