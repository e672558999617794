// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which values the attributes of a queue pair may have, whatever the transition (qp_transitions.h) and the device.
///
/// Not looked at here: what depends on the device and its port, that is tables of GIDs and P_Keys and limits of RDMA
/// READ.

#include <expected>

#include <infiniband/verbs.h>

namespace verbline::verbs {

/// EINVAL: an attribute that `mask` names is out of its range. Of numbers with 24 bits that go around (PSNs), the upper
/// eight mean nothing and are no error; devices have one port.
std::expected<void, int> check_values(const ibv_qp_attr& attributes, int mask);

}  // namespace verbline::verbs
