// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which frame sizes follow each other.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pmd/base/error.h"

namespace verbline::traffic {

constexpr std::uint32_t min_frame = 64, max_frame = 9216;  ///< with the FCS, bytes
constexpr std::uint32_t fcs = 4;                           ///< frame check sequence: the device's (IEEE 802.3 3.2.9)

/// Sizes in a fixed order, which repeats: each as often as its weight says, and spread evenly over the period, so that
/// any stretch of frames has nearly the same average.
class SizeMix {
public:
    /// One size (`512`), several by weight (`64:7,594:4,1518:1`), or `imix`: those (the mix that RFC 6985 3 takes for
    /// an example of IMIX, in its usual form). Sizes include the FCS.
    static Result<SizeMix> parse(std::string_view text);

    /// The different sizes, in the order given.
    const std::vector<std::uint32_t>& sizes() const { return sizes_; }
    /// Indices into `sizes`, for one period.
    const std::vector<std::uint16_t>& period() const { return period_; }
    std::uint32_t largest() const;
    double average() const;

private:
    std::vector<std::uint32_t> sizes_;
    std::vector<std::uint16_t> period_;
};

}  // namespace verbline::traffic
