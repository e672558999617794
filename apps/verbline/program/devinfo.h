// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline devinfo`: our devices as programs see them, and the links behind them.
std::unique_ptr<Command> make_devinfo();

}  // namespace verbline::cli
