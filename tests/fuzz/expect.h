// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>

namespace verbline::fuzz {

/// `expect` in a fuzz target: a broken promise is a crash.
inline void expect(bool promise) {
    if (!promise) std::abort();
}

}  // namespace verbline::fuzz
