// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline node`: one port for all RDMA programs of this machine.
std::unique_ptr<Command> make_node();

}  // namespace verbline::cli
