// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How a next-hop group shares packets among its members: a table of slots, as of a NIC's receive-side scaling. A
/// packet takes the slot indexed by the hash of its flow; each slot belongs to a member, and a member has as many as
/// its weight requires.
///
///     flow ── hash ──> slot │ a │ b │ a │ a │ b │ ... │ ──> member
///
/// The number of slots never changes, and a slot changes its member only if it must: when a member is removed, the
/// flows of its slots are spread over the others, and no other flow moves; when one is added, only the flows move whose
/// slots it gets. By ranges of hashes in proportion to the weights a quarter to a half of all flows would (RFC 2992,
/// 3). The table keeps no flows, so those of a slot move at once, whereas Linux's resilient groups wait until the slot
/// is idle: a router keeps no state of flows that could be lost.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace verbline::forward {

/// By slot, the position of a member. Shares are whole slots, 0.4 % of the packets; each member has one at least.
using GroupSlots = std::array<std::uint8_t, 256>;
constexpr std::uint8_t no_member = 0xff;

/// Shares slots among members of these weights, at most 255. Members keep the slots they have in `slots` as far as
/// their weights allow; other slots are of `no_member` there.
void share_slots(std::span<const std::uint32_t> weights, GroupSlots& slots);

}  // namespace verbline::forward
