// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline bench packet`: packet generator, sink and forwarder on any port.
std::unique_ptr<Command> make_bench_packet();

}  // namespace verbline::cli
