// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The command line, split as in every DPDK program: arguments for the EAL, `--`, our own.

#include <span>
#include <string>
#include <vector>

#include "pmd/base/error.h"

namespace verbline::cli {

struct Arguments {
    std::vector<std::string> eal;      ///< without the `--`
    std::vector<std::string> command;  ///< command and its arguments; or --help, --version; or nothing
};

/// `words` without the program's name. EAL arguments are there if the first word is an option other than ours; then a
/// `--` must end them.
Result<Arguments> split_arguments(std::span<const std::string> words);

}  // namespace verbline::cli
