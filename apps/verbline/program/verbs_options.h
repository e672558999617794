// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The options of commands that work on verbs devices: run and devinfo.

#include <optional>
#include <string>
#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/error.h"

namespace CLI {
class App;
}

namespace verbline::cli {

struct VerbsOptions {
    std::vector<std::string> links, addresses;
    std::optional<std::string> mtu, impair, capture;
    bool no_direct = false;

    void declare(CLI::App& app);

    /// Options that were not given are taken from VERBLINE_* in the environment, so that a run inside a run uses the
    /// same links.
    Result<verbs::Settings> settings() const;
};

}  // namespace verbline::cli
