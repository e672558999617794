// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The loop of a shard's thread: polls; when idle it backs off, and then waits for packets and commands.

#include <atomic>

#include "datapath/router/backoff.h"
#include "datapath/router/shard.h"

namespace verbline::router {

/// Polls until `stop` is set; to end a wait, interrupt the shard's WakeSignal after setting it. The calling thread owns
/// the shard meanwhile.
void run(Shard& shard, const std::atomic<bool>& stop, const Backoff::Limits& limits);

/// Whether the calling thread's affinity is a single isolated CPU, where backing off has no benefit.
bool on_isolated_cpu();

}  // namespace verbline::router
