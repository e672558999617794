// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Changes some bytes of a packet and its ICRC with them, without reading the rest.
///
/// A CRC is linear: that of the changed packet differs by that of the difference, which is zero but for those bytes.
/// So a packet that was damaged before is so after, and its receiver still finds out: the check remains end to end, as
/// it would not if a new ICRC were computed over whatever the packet holds now.

#include <cstddef>

#include "datapath/wire/bytes.h"

namespace verbline::wire {

/// Writes `with` at offset `at`. `packet` ends with its ICRC, before which the new bytes end; they are none of those
/// that the ICRC leaves out (icrc.h).
void patch_with_icrc(MutableBytes packet, std::size_t at, Bytes with) noexcept;

}  // namespace verbline::wire
