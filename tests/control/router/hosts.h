// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The addresses of a port under test, and of its one neighbour.

#include <cstddef>

#include "datapath/wire/types.h"

namespace verbline::test {

inline constexpr auto our_ip = wire::ipv4(10, 2, 0, 1), peer_ip = wire::ipv4(10, 2, 0, 2);
inline constexpr wire::MacAddress our_mac{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}},
    peer_mac{{std::byte{2}, {}, {}, {}, {}, std::byte{2}}};

}  // namespace verbline::test
