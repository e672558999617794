// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The buckets of a latency histogram, made as wide as a drawing shows.

#include <vector>

#include "apps/verbline/report/measurement.h"

namespace verbline::report {

struct Bin {
    double low = 0, high = 0;  ///< microseconds
    double frames = 0;
};

/// Bins of equal width on a logarithmic axis, each of a quarter of an octave, from the first that has frames to the
/// last; those between that have none are there. A bucket belongs where its highest value does, so a bin's edge is
/// right to the buckets' width, which is below half a per cent.
std::vector<Bin> bins(const std::vector<Bucket>& buckets);

}  // namespace verbline::report
