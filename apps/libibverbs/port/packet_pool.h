// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How many packet buffers a port has, and how large they are.
///
/// Half of a pool is what queue pairs may keep while earlier packets are missing (rdma::DeviceOptions), and that half
/// holds what two peers have under way at most, however many queue pairs they use (transport::Flight). The other half
/// is for what comes and goes: a burst received, two that wait for the link, the poll thread's cache of free buffers,
/// the rings of a DPDK driver. More would be resident in every process.

#include <cstdint>

#include "datapath/transport/flight.h"

namespace verbline::verbs {

/// Bytes of each: the largest path MTU, and headers.
constexpr std::uint16_t packet_room = 4352;
constexpr unsigned packet_count = 2 * (2 * transport::Flight::limit);
/// Buffers that an lcore keeps at hand.
constexpr unsigned packet_cache = 256;

}  // namespace verbline::verbs
