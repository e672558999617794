// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The direct links as the packet threads see them. Immutable, except for each packet thread's own cache.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmd/direct/direct_links.h"

namespace verbline::pmd {

struct DirectLinks::Table {
    std::vector<DirectLink*> receivers;                    ///< all links from which frames may still arrive
    std::unordered_map<std::uint64_t, DirectLink*> paths;  ///< by MAC address; null: use the lane, request no link

    // One-entry caches: most frames have the destination and source of the previous one.
    alignas(64) std::uint64_t last_destination = 0;  ///< the sender's
    DirectLink* last_path = nullptr;
    alignas(64) std::uint64_t last_source = 0;  ///< receiver's: of frames from the lane
};

}  // namespace verbline::pmd
