// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The command line of forwarder.

#include <optional>
#include <string>
#include <vector>

#include "pmd/base/error.h"
#include "pmd/factory/device_spec.h"

namespace verbline::forwarder {

struct Options {
    std::vector<std::string> eal;  ///< arguments before `--`
    pmd::DeviceSpec left, right;
};

/// nullopt: help was requested, and has been printed.
Result<std::optional<Options>> parse_options(int argc, const char* const* argv);

}  // namespace verbline::forwarder
