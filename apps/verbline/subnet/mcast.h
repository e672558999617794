// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline mcast`: multicast groups, at the subnet administrator.
std::unique_ptr<Command> make_mcast();

}  // namespace verbline::cli
