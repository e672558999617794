// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The memory of packet pools, registered with a device: the local keys by which work requests name it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pmd/base/error.h"
#include "pmd/hca/verbs.h"
#include "pmd/packet_pools.h"

namespace verbline::pmd::hca {

/// Registered while it lives. `key` may be called by any thread.
class MemoryRegions {
public:
    /// `threads`: of how many threads `pools` has the pools. The pools must outlive the regions. ENOMEM: the limit of
    /// locked memory is too low.
    static Result<MemoryRegions> create(const Verbs& verbs, ibv_pd& domain, const PacketPools& pools,
                                        std::size_t threads);

    /// The key of the memory at `address`; none: it is of none of the pools.
    std::optional<std::uint32_t> key(const void* address) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        for (const auto& region : regions_) {  // few: one for each piece of memory of each pool
            if (at - region.begin < region.size) return region.registered->lkey;
        }
        return std::nullopt;
    }

private:
    struct Region {
        std::uintptr_t begin = 0;
        std::size_t size = 0;
        Owned<ibv_mr> registered;
    };
    std::vector<Region> regions_;
};

}  // namespace verbline::pmd::hca
