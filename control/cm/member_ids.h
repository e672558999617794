// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Communication ids of the processes that share a port: their high bits name the member (link/member.h), so that the
/// node finds the receiver of a message in the message.
///
///     id   | member, 10 bits | 22 bits |
///
/// A SIDR request id is one of them (IBTA volume 1, 12.11).

#include <cstdint>
#include <optional>

#include "control/cm/communication_id_table.h"
#include "datapath/link/member.h"

namespace verbline::cm {

constexpr unsigned member_id_bits = 32 - link::member_bits;

constexpr link::MemberId member_of_id(std::uint32_t id) {
    return link::MemberId{static_cast<std::uint16_t>(id >> member_id_bits)};
}
/// None: a port of its own, which has all ids.
constexpr IdRange ids_of(std::optional<link::MemberId> member) {
    if (!member) return {};
    return {.base = std::uint32_t{static_cast<std::uint16_t>(*member)} << member_id_bits, .bits = member_id_bits};
}

}  // namespace verbline::cm
