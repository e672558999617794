// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline program`: the packet programs of a running gateway's ports.
std::unique_ptr<Command> make_packet_program();

}  // namespace verbline::cli
