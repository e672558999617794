// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the commands for our tables begin with, in DPDK's telemetry and in that of programs.

#include <string_view>

namespace verbline::telemetry {

inline constexpr std::string_view command_prefix = "/verbline/";

}  // namespace verbline::telemetry
