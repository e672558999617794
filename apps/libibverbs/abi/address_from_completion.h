// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The entry of the GID table that a received datagram was for, which the way back begins at.

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include "datapath/wire/types.h"

namespace verbline::verbs {

/// The index of our GID `gid` that is (or is not) of RoCE v2. Nothing: there is none.
std::optional<std::uint8_t> gid_index(ibv_context& context, std::uint8_t port, const wire::Gid& gid, bool udp);

}  // namespace verbline::verbs
