// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/directory.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/runtime/runtime_directory.h"

namespace verbline::hub {
namespace {

constexpr std::size_t longest_name = 32;

}  // namespace

bool valid_name(std::string_view name) {
    constexpr auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
    return !name.empty() && name.size() <= longest_name && std::isalnum(static_cast<unsigned char>(name[0])) &&
           std::ranges::all_of(name, allowed);
}

std::filesystem::path directory(std::string_view name) {
    return pmd::runtime_directory() / "hub" / name;
}
std::filesystem::path control_socket(std::string_view name) {
    return directory(name) / "hub.sock";
}
std::filesystem::path lane_socket(std::string_view name, unsigned lane) {
    return directory(name) / fmt::format("lane-{}.sock", lane);
}
std::filesystem::path find_control_socket(std::string_view name) {
    std::error_code none;
    auto own = control_socket(name);
    if (std::filesystem::exists(own, none)) return own;
    auto roots = pmd::root_runtime_directory() / own.lexically_relative(pmd::runtime_directory());
    return std::filesystem::exists(roots, none) ? roots : own;
}
std::filesystem::path log_file(std::string_view name) {
    return directory(name) / "hub.log";
}

Result<void> make_directory(std::string_view name) {
    return pmd::make_runtime_directory(directory(name));
}

Result<void> open_to(std::string_view name, const Access& access) {
    constexpr mode_t passage = S_IRWXU | S_IXGRP | S_IXOTH;
    const auto socket = control_socket(name);
    const auto failed = [](const std::filesystem::path& path) {
        return failure(errno, fmt::format("{}: {}", path.string(), std::strerror(errno)));
    };
    for (auto path = directory(name); path != pmd::runtime_directory().parent_path(); path = path.parent_path()) {
        if (chmod(path.c_str(), passage) != 0) return failed(path);
    }
    if (chown(socket.c_str(), static_cast<uid_t>(-1), access.group) != 0 || chmod(socket.c_str(), access.mode) != 0) {
        return failed(socket);
    }
    return {};
}

}  // namespace verbline::hub
