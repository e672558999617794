// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline bench ipoib`: what IPoIB costs beside Ethernet.
std::unique_ptr<Command> make_bench_ipoib();

}  // namespace verbline::cli
