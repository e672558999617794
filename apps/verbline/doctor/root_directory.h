// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reads files below a directory that may be a recorded tree of another machine, and so may hold anything: sizes are
/// bounded, only regular files are read, and no read blocks.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbline::doctor {

class RootDirectory {
public:
    static constexpr std::size_t max_file = 64 * 1024;
    static constexpr std::size_t max_entries = 8192;

    explicit RootDirectory(std::filesystem::path root) : root_(std::move(root)) {}

    bool exists(std::string_view path) const;
    /// The first max_file bytes of a file; none if it cannot be read.
    std::optional<std::string> beginning(std::string_view path) const;
    /// The whole file; none if it cannot be read or is longer than max_file.
    std::optional<std::string> bytes(std::string_view path) const;
    /// The same without white space at its ends; none as well if it is empty.
    std::optional<std::string> text(std::string_view path) const;
    /// Decimal, or hexadecimal after 0x; none if the file holds anything else.
    std::optional<std::int64_t> number(std::string_view path) const;
    /// "0" or "1", "N" or "Y".
    std::optional<bool> flag(std::string_view path) const;
    /// The last part of a symbolic link's target: the driver's name of ".../driver".
    std::optional<std::string> link_name(std::string_view path) const;
    /// Names in a directory, in order. Names that a shell would not take as one plain word are left out, because
    /// commands are made of them; the kernel allows an interface to be called `a;reboot`.
    std::vector<std::string> entries(std::string_view path) const;

private:
    /// At most one byte more than max_file.
    std::optional<std::string> read_some(std::string_view path) const;
    std::filesystem::path below(std::string_view path) const;

    std::filesystem::path root_;
};

/// Decimal, or hexadecimal after 0x.
std::optional<std::int64_t> parse_number(std::string_view text);

}  // namespace verbline::doctor
