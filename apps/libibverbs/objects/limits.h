// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The limits that the device reports and enforces.

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include "datapath/link/member.h"

namespace verbline::verbs::limits {

constexpr int queue_pairs = 1 << 14;  ///< VerbsPort's engine has as many slots
/// Of a member of a node: the rest of its slots are of XRC targets that members share, and one is QP1's.
constexpr int member_queue_pairs = static_cast<int>(link::own_queue_pairs) - 1;
constexpr int work_requests = 1 << 15;  ///< of each queue
constexpr int segments = 64;            ///< of a work request
constexpr std::uint32_t inline_bytes = 1024;
constexpr int completions = (1 << 22) - 1;  ///< of a completion queue
constexpr int reads = 128;                  ///< READs and atomics under way, each direction
constexpr std::size_t device_memory = 64 << 20;

ibv_device_attr_ex device_attributes(int pairs);

}  // namespace verbline::verbs::limits
