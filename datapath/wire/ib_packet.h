// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Both checks of a whole InfiniBand packet as it lies on a link: LRH, GRH if there is one, BTH, ..., ICRC, VCRC.

#include <cstddef>
#include <cstdint>

#include "datapath/wire/bytes.h"

namespace verbline::wire {

enum class IbCheck : std::uint8_t {
    ok,
    malformed,  ///< too short for its headers, not a transport packet, or its length is not the LRH's packet length
    vcrc,       ///< damaged on this link
    icrc,       ///< damaged before
};

/// Write ICRC and VCRC into the last six bytes of `packet`, which begins with the LRH. False: malformed, nothing
/// written.
bool seal(MutableBytes packet);

/// `packet` is exactly from the LRH through the VCRC: link padding has been cut off.
IbCheck verify(Bytes packet);

}  // namespace verbline::wire
