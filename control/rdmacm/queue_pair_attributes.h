// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Attributes of a connection's queue pair for each state transition, with ibv_qp_attr_mask bits for the valid ones;
/// the same as Linux returns, since programs pass them on unchanged.

#include <cstdint>

#include "control/rdmacm/id.h"
#include "control/rdmacm/service.h"
#include "pmd/base/error.h"

namespace verbline::rdmacm {

namespace attribute {  ///< ibv_qp_attr_mask
constexpr std::uint32_t state = 1 << 0, access_flags = 1 << 3, pkey_index = 1 << 4, port = 1 << 5, qkey = 1 << 6;
constexpr std::uint32_t path = 1 << 7, mtu = 1 << 8, timeout = 1 << 9, retry_count = 1 << 10, rnr_retry = 1 << 11;
constexpr std::uint32_t receive_psn = 1 << 12, max_reads = 1 << 13, alternate_path = 1 << 14, min_rnr_timer = 1 << 15;
constexpr std::uint32_t send_psn = 1 << 16, max_destination_reads = 1 << 17, migration = 1 << 18;
constexpr std::uint32_t destination = 1 << 20;
}  // namespace attribute

namespace access_flag {  ///< ibv_access_flags
constexpr std::uint32_t remote_write = 1 << 1, remote_read = 1 << 2, remote_atomic = 1 << 3;
}

/// EINVAL: the connection's state has no such attributes. A UD id needs its Q_Key for every state.
Result<QueuePairAttributes> queue_pair_attributes(const Id& id, transport::QueuePairState state);

}  // namespace verbline::rdmacm
