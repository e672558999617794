// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/preload_path.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/runtime/runtime_directory.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

bool loadable(const fs::path& path) {
    return path.native().find_first_of(" \t\n:;$") == std::string::npos;
}

/// A link to `directory` in the run-time directory, of a name that is that directory's alone.
Result<fs::path> link_to(const fs::path& directory) {
    struct stat about{};
    if (stat(directory.c_str(), &about) != 0)
        return failure(errno, fmt::format("{}: {}", directory.string(), std::strerror(errno)));
    const auto base = pmd::runtime_directory();
    if (auto made = pmd::make_runtime_directory(base); !made) return std::unexpected(made.error());
    const auto link = base / fmt::format("library-{:x}-{:x}", about.st_dev, about.st_ino);
    std::error_code problem;
    if (fs::read_symlink(link, problem) == directory) return link;
    // Another program may do the same at this moment: the link is put in place whole.
    const auto fresh = fs::path(link) += fmt::format(".{}", getpid());
    unlink(fresh.c_str());
    if (symlink(directory.c_str(), fresh.c_str()) != 0 || rename(fresh.c_str(), link.c_str()) != 0)
        return failure(errno, fmt::format("{}: {}", link.string(), std::strerror(errno)));
    return link;
}

}  // namespace

Result<fs::path> preload_path(const fs::path& library) {
    if (loadable(library)) return library;
    const auto advice = "build or install Verbline in a directory without blanks, `:`, `;` and `$` in its path";
    if (!loadable(pmd::runtime_directory()))
        return failure(EINVAL, fmt::format("the loader cannot be given {}; {}", library.string(), advice));
    const auto link = link_to(library.parent_path());
    if (!link) return failure(link.error().code, fmt::format("{}; or {}", link.error().what, advice));
    return *link / library.filename();
}

}  // namespace verbline::verbs
