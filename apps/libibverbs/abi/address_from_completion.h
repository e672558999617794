// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The GID table entry that a received datagram was addressed to, from which a reply is sent.

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include "datapath/wire/types.h"

namespace verbline::verbs {

/// The index of our GID `gid` of type RoCE v2 (`udp`) or of another type; nullopt if there is none.
std::optional<std::uint8_t> gid_index(ibv_context& context, std::uint8_t port, const wire::Gid& gid, bool udp);

}  // namespace verbline::verbs
