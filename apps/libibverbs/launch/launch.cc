// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/launch.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "apps/libibverbs/launch/first_facts.h"
#include "apps/libibverbs/launch/link_check.h"
#include "apps/libibverbs/launch/paths.h"
#include "apps/libibverbs/namespace/private_namespace.h"
#include "apps/libibverbs/namespace/proposed_address.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

/// `first` before what the variable holds, once.
void prepend(const char* name, const std::string& first) {
    const auto before = process_environment(name).value_or(std::string());
    if (before == first || before.starts_with(first + ":")) return;
    setenv(name, before.empty() ? first.c_str() : fmt::format("{}:{}", first, before).c_str(), 1);
}

}  // namespace

fs::path own_program() {
    std::error_code problem;
    return fs::read_symlink("/proc/self/exe", problem);
}

Result<fs::path> find_library(const fs::path& program) {
    std::error_code problem;
    const auto beside = program.parent_path();
    const fs::path installed(installed_library_directory);
    for (const auto& directory : {beside.parent_path() / "libibverbs",
                                  beside / installed.lexically_relative(installed_program_directory), installed})
        if (fs::is_regular_file(directory / library_name, problem))
            return fs::canonical(directory, problem) / library_name;
    return failure(ENOENT,
                   fmt::format("{} of Verbline is neither beside the program nor in {}; build it with `ninja` or "
                               "install it with `ninja install`",
                               library_name, installed_library_directory));
}

Settings with_absolute_paths(Settings settings) {
    if (!settings.capture.empty()) settings.capture = fs::absolute(settings.capture);
    for (auto& link : settings.links)
        if (auto* memif = std::get_if<pmd::MemifSpec>(&link)) memif->path = fs::absolute(memif->path);
    return settings;
}

void set_environment(const Settings& settings, const fs::path& library) {
    for (const auto& [name, value] : environment_of(settings)) {
        if (value.empty())
            unsetenv(name.c_str());
        else
            setenv(name.c_str(), value.c_str(), 1);
    }
    prepend("LD_PRELOAD", library);
    prepend("LD_LIBRARY_PATH", library.parent_path());
}

Result<void> make_entries(Settings& settings) {
    const bool privileged = std::ranges::any_of(settings.links, needs_privilege);
    const auto mac = random_mac();
    auto entered = enter_private_namespace(first_facts(settings, mac),
                                           privileged ? UserNamespace::refused : UserNamespace::allowed);
    if (!entered) return entered;
    settings.sysfs = sysfs_class;
    return propose_address(sysfs_class, mac);
}

}  // namespace verbline::verbs
