// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Starting a program on our devices: the library, the environment, the entries in /sys and /dev.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "apps/libibverbs/namespace/sysfs_tree.h"
#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

constexpr std::string_view library_name = "libibverbs.so.1";

/// The executable file of this process.
std::filesystem::path own_program();

/// Finds our libibverbs.so.1: in the build tree that contains `program`, in the installed tree
/// that does, or where `meson install` has put it.
Result<std::filesystem::path> find_library(const std::filesystem::path& program);

/// Makes relative paths absolute, so that they hold after the program changes its directory.
Settings with_absolute_paths(Settings settings);

/// Sets the settings in the environment of this process, and so of what it executes, and puts the library before any
/// other of its name, both for programs that are linked with it and for those that open it with dlopen.
void set_environment(const Settings& settings, const std::filesystem::path& library);

/// Enters the private namespace and records the place of the entries in the settings. After an error the process can
/// still start the program, without the entries.
Result<void> make_entries(Settings& settings);

}  // namespace verbline::verbs
