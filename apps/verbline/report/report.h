// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline report`: a page of plots from what benchmarks wrote.
std::unique_ptr<Command> make_report();

}  // namespace verbline::cli
