// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Options of a command from a file, for services.

#include <CLI/CLI.hpp>

namespace verbline::cli {

/// Adds `--config FILE`: TOML whose keys are the names of options and arguments. An option that is given on the command
/// line as well is taken from there; a key that is none is an error. The option that is returned is the app's.
inline CLI::Option* add_option_file(CLI::App& app) {
    app.allow_config_extras(CLI::config_extras_mode::error);
    return app
        .set_config("--config", "", "take options that are not given here from a TOML file, whose keys are their names")
        ->type_name("FILE");
}

}  // namespace verbline::cli
