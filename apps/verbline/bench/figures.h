// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Figures of repeated measurements. Functions of their arguments only.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace verbline::bench {

/// Of an even number of values the mean of the two in the middle; 0 of none.
inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 != 0) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The mean of the middle half: as little moved by a few far values as the median, but finer where a clock's steps are
/// coarse. 0 of none.
inline double interquartile_mean(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const auto quarter = static_cast<std::ptrdiff_t>(values.size() / 4);
    const auto first = values.begin() + quarter, last = values.end() - quarter;
    return std::accumulate(first, last, 0.) / static_cast<double>(last - first);
}

/// From the least to the greatest, in per cent of the median; 0 of none.
inline double spread_percent(const std::vector<double>& values) {
    const auto typical = median(values);
    if (typical == 0) return 0;
    const auto [least, greatest] = std::ranges::minmax(values);
    return 100 * (greatest - least) / typical;
}

/// Of values above 0; 0 of none.
inline double geometric_mean(std::span<const double> values) {
    if (values.empty()) return 0;
    double sum = 0;
    for (const auto value : values) sum += std::log(value);
    return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace verbline::bench
