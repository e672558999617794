// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "control/sa/membership.h"

namespace verbline::sa {

inline constexpr UserId alice{1}, bob{2};

}  // namespace verbline::sa
