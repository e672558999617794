// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline metrics`: what running instances count, for Prometheus.
std::unique_ptr<Command> make_metrics();

}  // namespace verbline::cli
