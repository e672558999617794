// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// `verbline trace`: what the shards of an instance did last, of one that runs or that ended by a fault.

#include <memory>

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

std::unique_ptr<Command> make_trace();

}  // namespace verbline::cli
