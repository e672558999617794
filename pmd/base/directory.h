// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Iterates over the names in a directory, without std::filesystem, whose iterators terminate the process when memory
/// runs out.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <dirent.h>

namespace verbline {

/// Calls `use` with the name of each entry, except those of the directory itself and of its parent, in no particular
/// order. A directory that cannot be opened counts as empty. `use` may remove the entry, and may throw.
template <class Use>
void for_each_entry(const std::filesystem::path& directory, Use use) {
    const std::unique_ptr<DIR, decltype([](DIR* of) { closedir(of); })> stream(opendir(directory.c_str()));
    while (const auto* const entry = stream != nullptr ? readdir(stream.get()) : nullptr) {
        std::string name = entry->d_name;
        if (name != "." && name != "..") use(std::move(name));
    }
}

}  // namespace verbline
