// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which attributes take a queue pair from one state to another (IBTA volume 1, 11.2.5.2 and table 91), for each type,
/// as the kernel checks them for all of its drivers:
///
///     RESET -> INIT -> RTR -> RTS <-> SQD        every state but RESET: -> ERR;  every state: -> RESET
///                              ^------ SQE
///
/// Pure functions. Errors are errno values.

#include <expected>

#include <infiniband/verbs.h>

namespace verbline::verbs {

/// EINVAL: no such transition, a required attribute is missing, or one is not allowed. Without IBV_QP_STATE the state
/// is kept: `to` is `from`. With IBV_QP_CUR_STATE, `from` is the state that the caller claims. States and type must be
/// values of their enumerations: call check_values (qp_values.h) first on what a program passed. IBV_QPT_RAW_PACKET and
/// other types that are not supported have no transitions.
std::expected<void, int> check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int attr_mask);

}  // namespace verbline::verbs
