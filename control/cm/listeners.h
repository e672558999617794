// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who listens for which service ids. Nearly all listen for one id: those are hashed. The few that listen for all ids
/// that agree in some bits are looked through after them.
///
/// Threads: any. Finding takes the lock of one part; that of the ranges only if there are any.

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
    /// False: another listener has some of these ids.
    bool insert(wire::CmServiceId service, std::uint64_t mask, std::uint32_t id);
    void erase(wire::CmServiceId service, std::uint64_t mask, std::uint32_t id);
    /// 0: nobody.
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

    std::mutex changes_;  ///< one change at a time: what is free stays free until it is taken
    std::array<Part, part_count> parts_;
    mutable std::mutex ranges_mutex_;
    std::vector<Range> ranges_;
    std::atomic<std::size_t> range_count_ = 0;
};

}  // namespace verbline::cm
