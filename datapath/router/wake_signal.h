// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What wakes a shard that waits, by the name that the router and its control thread have for it.

#include "pmd/wakeups/wake_signal.h"

namespace verbline::router {

using pmd::WakeSignal;

}  // namespace verbline::router
