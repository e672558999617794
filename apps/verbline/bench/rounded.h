// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>

namespace verbline::bench {

/// To so many digits behind the point, so that tables stay readable.
inline double rounded(double value, int digits = 3) {
    const double scale = std::pow(10, digits);
    return std::round(value * scale) / scale;
}

}  // namespace verbline::bench
