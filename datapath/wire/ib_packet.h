// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Writes and checks both CRCs of a whole InfiniBand packet: LRH, GRH if present, BTH, ..., ICRC, VCRC.

#include <cstddef>
#include <cstdint>

#include "datapath/wire/bytes.h"

namespace verbline::wire {

enum class IbCheck : std::uint8_t {
    ok,
    malformed,  ///< too short for its headers, not a transport packet, or its length is not the LRH's packet length
    vcrc,       ///< VCRC wrong: damaged on this link
    icrc,       ///< VCRC correct but ICRC wrong: damaged before this link
};

/// Writes ICRC and VCRC into the last six bytes of `packet`, which begins with the LRH. Returns false, writing nothing,
/// if it is malformed.
bool seal(MutableBytes packet);

/// `packet` must be exactly from the LRH through the VCRC, without link padding.
IbCheck verify(Bytes packet);

}  // namespace verbline::wire
