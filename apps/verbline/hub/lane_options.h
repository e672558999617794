// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The command line options that hubs and nodes have in common.

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/verbline/command_line/command.h"
#include "apps/verbline/hub/hub_process.h"

namespace verbline::cli {

class LaneOptions {
public:
    /// `kind`: hub or node, in texts. `options` outlives the object, and `kind` the program.
    LaneOptions(HubOptions& options, std::string_view kind) : options_(options), kind_(kind) {}

    void declare(CLI::App& app);
    /// Checks the name and reads the impairments.
    Outcome read();
    /// Options that are set when it starts, and differ.
    std::vector<std::string_view> fixed_differences(const LaneOptions& other) const;

private:
    HubOptions& options_;
    std::string_view kind_;
    std::string impair_;
};

}  // namespace verbline::cli
