// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/runtime/runtime_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/runtime/trusted_path.h"

namespace verbline::pmd {
namespace {

namespace fs = std::filesystem;

constexpr mode_t others = S_IRWXG | S_IRWXO;

fs::path fallback() {
    return fmt::format("/tmp/verbline-{}", geteuid());
}

/// The path is trusted; now it must be ours, and what stands in for a run-time directory private besides.
Result<void> check_own(const fs::path& path) {
    struct stat status{};
    if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
        return failure(EPERM, fmt::format("{} is not a directory of ours; {}", path.string(), runtime_advice));
    if (path == fallback() && (status.st_mode & others) != 0)
        return failure(EPERM, fmt::format("{0} is open to other users; `chmod 700 {0}`, or set XDG_RUNTIME_DIR to a "
                                          "directory of yours",
                                          path.string()));
    return {};
}

}  // namespace

fs::path root_runtime_directory() {
    return "/run/verbline";
}

fs::path runtime_directory() {
    if (geteuid() == 0) return root_runtime_directory();
    const char* given = std::getenv("XDG_RUNTIME_DIR");
    if (given != nullptr && *given != '\0') return fs::path(given) / "verbline";
    return fallback();
}

fs::path socket_path(std::string_view name) {
    if (name.empty() || name.contains('/')) return name;
    return runtime_directory() / name;
}

Result<void> make_runtime_directory(const fs::path& path) {
    const auto base = runtime_directory();
    std::error_code error;
    fs::create_directories(base.parent_path(), error);
    auto one = base;
    const auto below = path.lexically_relative(base);
    for (auto part = below.begin();; one /= *part++) {
        if (mkdir(one.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
            return failure(errno, fmt::format("{}: {}; run as root, or set XDG_RUNTIME_DIR to a directory of yours",
                                              one.string(), std::strerror(errno)));
        }
        // Before anything is created in it, so that nothing is left behind in another user's directory.
        if (auto good = check_path(one, runtime_advice); !good) return good;
        if (auto good = check_own(one); !good) return good;
        if (part == below.end()) return {};
    }
}

}  // namespace verbline::pmd
