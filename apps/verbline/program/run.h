// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline run`: a program that uses RDMA, on our devices.
std::unique_ptr<Command> make_run();

}  // namespace verbline::cli
