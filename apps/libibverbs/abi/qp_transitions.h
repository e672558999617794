// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which attributes take a queue pair from one state to another (IBTA volume 1, 11.2.5.2 and table 91), for each type,
/// as the kernel checks them for all of its drivers:
///
///     RESET -> INIT -> RTR -> RTS <-> SQD        every state but RESET: -> ERR;  every state: -> RESET
///                              ^------ SQE
///
/// Functions of their arguments. Errors are errno values.

#include <expected>

#include <infiniband/verbs.h>

namespace verbline::verbs {

/// EINVAL: no such transition, an attribute missing, or one that has no place there. Without IBV_QP_STATE, a
/// modification stays where it is: `to` is `from`. With IBV_QP_CUR_STATE, `from` is what the caller claims.
/// States and type are values of their enumerations: let check_values (qp_values.h) look at what a program gave first.
/// IBV_QPT_RAW_PACKET and others that we do not offer have no transitions.
std::expected<void, int> check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int attr_mask);

}  // namespace verbline::verbs
