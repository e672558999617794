// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline host`: an IPoIB interface for this host or a network namespace.
std::unique_ptr<Command> make_host();

}  // namespace verbline::cli
