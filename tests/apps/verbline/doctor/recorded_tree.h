// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Directories that look like /sys and /proc of a machine, written from a text, and programs that answer as recorded.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ranges>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/doctor/checks.h"
#include "apps/verbline/doctor/fact_reader.h"
#include "tests/apps/verbline/scratch.h"

namespace verbline::doctor {

class RecordedTree {
public:
    /// Lines `path: content` and `path -> target of a symbolic link`; blanks in front of a path do not count.
    void add(std::string_view text) const {
        for (const auto part : std::views::split(text, '\n')) {
            std::string_view line(part);
            line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
            const auto link = line.find(" -> ");
            const auto colon = line.find(": ");
            if (link != line.npos)
                std::filesystem::create_symlink(line.substr(link + 4), made(line.substr(0, link)));
            else if (colon != line.npos)
                write(line.substr(0, colon), std::string(line.substr(colon + 2)) + "\n");
        }
    }
    void write(std::string_view path, std::string_view content) const {
        std::ofstream(made(path), std::ios::binary) << content;
    }
    const std::filesystem::path& path() const { return scratch_.path(); }
    RootDirectory root() const { return RootDirectory(path()); }

private:
    std::filesystem::path made(std::string_view path) const {
        const auto whole = scratch_.path() / path;
        std::filesystem::create_directories(whole.parent_path());
        std::filesystem::remove(whole);
        return whole;
    }

    cli::Scratch scratch_;
};

/// Answers by what was recorded for the words; anything else fails as a program does whose driver lacks the feature.
class RecordedPrograms final : public Programs {
public:
    std::map<std::string, Result<std::string>> answers;

    Result<std::string> output(std::span<const std::string> words) override {
        const auto found = answers.find(fmt::format("{}", fmt::join(words, " ")));
        return found == answers.end() ? failure(EIO, "failed") : found->second;
    }
};

/// The configuration space of a PCI Express device with this Device Control register.
inline std::string config_space(unsigned device_control) {
    std::string config(256, '\0');
    config[0x34] = 0x40;  // first capability: power management
    config[0x40] = 0x01;
    config[0x41] = 0x60;  // next: PCI Express
    config[0x60] = 0x10;
    config[0x68] = static_cast<char>(device_control & 0xff);
    config[0x69] = static_cast<char>(device_control >> 8);
    return config;
}

}  // namespace verbline::doctor
