// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checks the values of queue pair attributes, independently of the transition (qp_transitions.h) and of the device.
///
/// Not checked here: what depends on the device and its port, that is GID and P_Key tables and the limits of RDMA READ.

#include <expected>

#include <infiniband/verbs.h>

namespace verbline::verbs {

/// EINVAL: an attribute that `mask` names is out of range. The upper eight bits of 24-bit PSNs are ignored; devices
/// have one port.
std::expected<void, int> check_values(const ibv_qp_attr& attributes, int mask);

}  // namespace verbline::verbs
