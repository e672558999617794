// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/directory.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbline::hub {
namespace {

constexpr std::size_t longest_name = 32;

}  // namespace

std::filesystem::path base_directory() {
    if (geteuid() == 0) return "/run/verbline";
    const char* given = std::getenv("XDG_RUNTIME_DIR");
    if (given != nullptr && *given != '\0') return std::filesystem::path(given) / "verbline";
    return fmt::format("/tmp/verbline-{}", geteuid());
}

bool valid_name(std::string_view name) {
    constexpr auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
    return !name.empty() && name.size() <= longest_name && std::isalnum(static_cast<unsigned char>(name[0])) &&
           std::ranges::all_of(name, allowed);
}

std::filesystem::path directory(std::string_view name) {
    return base_directory() / "hub" / name;
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

Result<void> make_own_directory(const std::filesystem::path& path) {
    const auto base = base_directory();
    std::error_code error;
    std::filesystem::create_directories(base.parent_path(), error);
    auto one = base;
    const auto below = path.lexically_relative(base);
    for (auto part = below.begin();; one /= *part++) {
        if (mkdir(one.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
            return failure(errno, fmt::format("{}: {}; run as root, or set XDG_RUNTIME_DIR to a directory of yours",
                                              one.string(), std::strerror(errno)));
        }
        if (part == below.end()) break;
    }
    struct stat status{};
    if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
        return failure(EPERM, fmt::format("{} is not a directory of ours; remove it, or set XDG_RUNTIME_DIR to a "
                                          "directory of yours",
                                          path.string()));
    }
    return {};
}

Result<void> make_directory(std::string_view name) {
    return make_own_directory(directory(name));
}

}  // namespace verbline::hub
