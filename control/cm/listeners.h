// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Listeners by service id. Exact service ids are hashed; the few listeners with a mask are searched linearly after
/// them.
///
/// Thread-safe. `find` takes the lock of one part, and that of the ranges only if there are any.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "datapath/wire/cm.h"

namespace verbline::cm {

class Listeners {
public:
    /// False: another listener overlaps.
    bool insert(wire::CmServiceId service, std::uint64_t mask, std::uint32_t id);
    void erase(wire::CmServiceId service, std::uint64_t mask, std::uint32_t id);
    /// Returns the listener's endpoint id; 0: none.
    std::uint32_t find(wire::CmServiceId service) const;

private:
    static constexpr std::size_t part_count = 16;
    static constexpr std::uint64_t exact = ~std::uint64_t{0};

    struct alignas(64) Part {
        mutable std::mutex mutex;
        std::unordered_map<std::uint64_t, std::uint32_t> ids;
    };
    struct Range {
        std::uint64_t service = 0, mask = 0;
        std::uint32_t id = 0;
        bool meets(std::uint64_t other, std::uint64_t other_mask) const {
            return ((service ^ other) & mask & other_mask) == 0;
        }
    };

    bool free(std::uint64_t service, std::uint64_t mask) const;

    std::mutex changes_;  ///< serializes changes: makes check and insert atomic
    std::array<Part, part_count> parts_;
    mutable std::mutex ranges_mutex_;
    std::vector<Range> ranges_;
    std::atomic<std::size_t> range_count_ = 0;
};

}  // namespace verbline::cm
