// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What this folder requires of the device part of the library, besides the verbs themselves.

#include <cstdint>

#include <infiniband/verbs.h>

namespace verbline::verbs {

/// The Ethernet address (six bytes) and VLAN (0xffff: none) of the next hop on `path`. May block for neighbour
/// resolution. Returns 0 or an errno value.
int resolve_mac(ibv_context* context, const ibv_ah_attr* path, std::uint8_t* mac, std::uint16_t* vlan);

}  // namespace verbline::verbs
