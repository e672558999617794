// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The names in a directory. Not by std::filesystem, whose iterators end the process when there is no memory.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <dirent.h>

namespace verbline {

/// Calls `use` with the name of each entry but `.` and `..`, in no order; never for a directory that cannot be read.
/// `use` may remove the entry, and may throw.
template <class Use>
void for_each_entry(const std::filesystem::path& directory, Use use) {
    const std::unique_ptr<DIR, decltype([](DIR* of) { closedir(of); })> stream(opendir(directory.c_str()));
    while (const auto* const entry = stream != nullptr ? readdir(stream.get()) : nullptr) {
        std::string name = entry->d_name;
        if (name != "." && name != "..") use(std::move(name));
    }
}

}  // namespace verbline
