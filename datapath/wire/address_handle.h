// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Addressing of a destination on an InfiniBand subnet, from a PathRecord or a multicast group. A plain value with the
/// fields of ibv_ah_attr; no resource is allocated for it.

#include <cstdint>

#include "datapath/wire/types.h"

namespace verbline::wire {

struct AddressHandle {
    Lid dlid{};
    std::uint8_t sl = 0;  ///< service level, 0..15
    bool global = false;  ///< a GRH is carried: always for multicast (IBTA 9.4.1.1), else across subnets
    Gid dgid{};           ///< valid only if global, like the three below
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;  ///< 20 bits

    constexpr bool operator==(const AddressHandle&) const = default;
};

}  // namespace verbline::wire
