// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How many packet buffers a port has, and how large they are.
///
/// Half of a pool may be held by queue pairs for packets that arrived out of order (rdma::DeviceOptions); that suffices
/// for what two peers have in flight at most, however many queue pairs they use (transport::Flight). The other half is
/// for buffers in transit: a received burst, two bursts that wait for the link, the polling thread's cache of free
/// buffers, the rings of a DPDK driver. A larger pool would be resident in every process.

#include <cstdint>

#include "datapath/transport/flight.h"

namespace verbline::verbs {

/// Bytes per buffer: the largest path MTU plus headers.
constexpr std::uint16_t packet_room = 4352;
constexpr unsigned packet_count = 2 * (2 * transport::Flight::limit);
/// Size of the per-lcore mempool cache.
constexpr unsigned packet_cache = 256;

}  // namespace verbline::verbs
