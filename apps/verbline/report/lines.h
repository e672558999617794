// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Merges measurements, of one file or of several, into the lines of a plot.

#include <string>
#include <utility>
#include <vector>

#include "apps/verbline/report/model.h"

namespace verbline::report {

/// What a measurement was made with, as it is printed: {"role", "sink"}, {"flows", "1000 flows"}.
using Parameters = std::vector<std::pair<std::string, std::string>>;

/// A value, and what it was measured at.
struct Sample {
    Parameters parameters;  ///< all but the one on the x axis; the same keys in all samples of a plot
    double x = 0;
    double y = 0;
};

/// Samples with equal parameters are a line, named by those parameters in which lines differ; `only` is the name of a
/// line without others. Several samples at one place are a point at their median, from the least to the greatest. A
/// line of a single point shows nothing and is left out.
std::vector<Series> merge(const std::vector<Sample>& samples, const std::string& only);

/// "All: loopback, 64 B, 1 flow.": the parameters in which all lines agree; empty: none.
std::string in_common(const std::vector<Sample>& samples);

}  // namespace verbline::report
