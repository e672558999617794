// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Number of a lane.

#include <cstdint>

#include "datapath/link/member.h"

namespace verbline::hub {

enum class LaneId : std::uint16_t {};
/// Of a node, whose lanes have the numbers of its members.
constexpr link::MemberId member_of(LaneId lane) {
    return link::MemberId{static_cast<std::uint16_t>(lane)};
}

}  // namespace verbline::hub
