// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The queries that programs reach through the context's table of operations.

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

namespace verbline::verbs {

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* to, std::size_t size);
int query_device(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* to,
                 std::size_t size);
int query_rt_values(ibv_context* context, ibv_values_ex* values);

}  // namespace verbline::verbs
