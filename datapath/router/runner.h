// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A thread's life as a shard: poll, and back off when there is nothing to do.

#include <atomic>

#include "datapath/router/backoff.h"
#include "datapath/router/shard.h"

namespace verbline::router {

/// Polls until `stop`. The calling thread owns the shard meanwhile.
void run(Shard& shard, const std::atomic<bool>& stop, const Backoff::Limits& limits);

/// Whether the calling thread runs on one isolated CPU alone, where backing off would help nobody.
bool on_isolated_cpu();

}  // namespace verbline::router
