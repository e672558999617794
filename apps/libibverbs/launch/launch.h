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

/// This program's own file.
std::filesystem::path own_program();

/// Our libibverbs.so.1: of the build tree that `program` lies in, or where it is installed.
Result<std::filesystem::path> find_library(const std::filesystem::path& program);

/// Paths that the program could no longer find from another directory become absolute.
Settings with_absolute_paths(Settings settings);

/// Changes this process's environment, and so that of what it executes. The settings as they are; the library before
/// any other of its name, for programs that the loader starts and for those that open it late.
void set_environment(const Settings& settings, const std::filesystem::path& library);

/// What is known of the devices before they are open: names and link layer, and what the kernel says of interfaces.
std::vector<DeviceFacts> first_facts(const Settings& settings);

/// Enters the private namespace and notes in the settings where the entries are. An error leaves a process that can
/// start the program all the same.
Result<void> make_entries(Settings& settings);

}  // namespace verbline::verbs
