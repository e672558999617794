// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/directory.h"

#include <algorithm>
#include <cctype>

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
std::filesystem::path log_file(std::string_view name) {
    return directory(name) / "hub.log";
}

Result<void> make_directory(std::string_view name) {
    return pmd::make_runtime_directory(directory(name));
}

}  // namespace verbline::hub
