// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The links as the threads of the packets see them. Never changed but for what one such thread keeps for itself.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmd/direct/direct_links.h"

namespace verbline::pmd {

struct DirectLinks::Table {
    std::vector<DirectLink*> receivers;  ///< all that frames may still come from
    std::unordered_map<std::uint64_t, DirectLink*>
        paths;  ///< by MAC address; null: the lane, and nobody is to be asked

    // Most frames go where the one before went, and come from where it came from.
    alignas(64) std::uint64_t last_destination = 0;  ///< the sender's
    DirectLink* last_path = nullptr;
    alignas(64) std::uint64_t last_source = 0;  ///< the receiver's: of what came by the lane
};

}  // namespace verbline::pmd
