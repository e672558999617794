// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a packet measurement was made with, as lines are named by it.

#include <string>

#include "apps/verbline/report/lines.h"
#include "apps/verbline/report/measurement.h"

namespace verbline::report {

/// Of which a plot shows the change.
enum class Varied { nothing, size, flows, lcores };

/// All but what is varied. With more lcores go more queues, as a queue is polled by one: `queues_follow` leaves them
/// out, too.
Parameters parameters(const PacketRun& run, Varied varied, bool queues_follow = false);

/// "64 B", "mix of 3 sizes, 353.8 B".
std::string size_text(const PacketRun& run);
std::string protocol_text(const PacketRun& run);
std::string devices_text(const PacketRun& run);

}  // namespace verbline::report
