// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/instance.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/instance/telemetry_client.h"
#include "control/telemetry/program_directory.h"
#include "pmd/runtime/runtime_directory.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::cli {
namespace {

constexpr std::string_view prefix_of_all = "verbline-";
/// Of services that have a user of their own (config/systemd).
constexpr auto services_directory = "/run/verbline-services";

/// The directory lies in one of root's, so that root has given it to this user.
pmd::Trust trust_in_services() {
    struct stat about{};
    if (lstat(services_directory, &about) != 0 || !S_ISDIR(about.st_mode)) return {};
    return {.user = about.st_uid};
}

/// The directory that rte_eal_init chooses, except /tmp, which it would share with every other user.
std::filesystem::path base_directory() {
    if (const char* given = std::getenv("RUNTIME_DIRECTORY")) return given;
    if (getuid() == 0) return "/var/run";
    if (const char* given = std::getenv("XDG_RUNTIME_DIR")) return given;
    return pmd::runtime_directory();
}

struct Search {
    std::vector<Instance> found;
    std::optional<Error> untrusted;  ///< why a socket was skipped
};

/// The client of a socket that answers.
Result<TelemetryClient> ask(const std::filesystem::path& socket, Search& search, const pmd::Trust& trust = {}) {
    auto client = TelemetryClient::connect(socket, trust);
    if (!client && client.error().code == EPERM) search.untrusted = client.error();
    return client;
}

void add_places(const std::filesystem::path& directory, std::vector<InstancePlace>& places,
                const pmd::Trust& trust = {}) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string file = entry->path().filename();
        if (!file.starts_with(prefix_of_all)) continue;
        if (!std::filesystem::exists(entry->path() / lock_file, error)) continue;  // of another program
        places.push_back({file.substr(prefix_of_all.size()), entry->path(), trust});
    }
}

void add_instances(Search& search) {
    for (const auto& place : instance_places()) {
        const auto socket = place.directory / "dpdk_telemetry.v2";
        // A socket without a server was left behind by a killed process.
        if (const auto client = ask(socket, search, place.trust))
            search.found.push_back({place.name, client->pid(), socket, place.trust});
    }
}

/// A program makes its socket and listens at it right after.
bool is_new(const std::filesystem::path& socket) {
    std::error_code error;
    const auto made = std::filesystem::last_write_time(socket, error);
    return error || std::filesystem::file_time_type::clock::now() - made < std::chrono::seconds(10);
}

/// Programs on our verbs library, by their sockets' names.
void add_programs(Search& search) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(telemetry::program_directory(), error), end; !error && entry != end;
         entry.increment(error)) {
        const auto client = ask(entry->path(), search);
        if (client) {
            search.found.push_back({entry->path().filename(), client->pid(), entry->path(), {}});
        } else if (client.error().code == ECONNREFUSED && !is_new(entry->path())) {
            std::filesystem::remove(entry->path(), error);  // of one that was killed
            error.clear();
        }
    }
}

Search search_instances() {
    Search search;
    add_instances(search);
    add_programs(search);
    std::ranges::sort(search.found, {}, &Instance::name);
    return search;
}

}  // namespace

bool valid_instance_name(std::string_view name) {
    constexpr auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
    return !name.empty() && name.size() <= 64 && std::isalnum(static_cast<unsigned char>(name[0])) &&
           std::ranges::all_of(name, allowed);
}

std::string file_prefix(std::string_view name) {
    return fmt::format("{}{}", prefix_of_all, name);
}

std::filesystem::path runtime_directory() {
    return base_directory() / "dpdk";
}

std::filesystem::path instance_directory(std::string_view name) {
    return runtime_directory() / file_prefix(name);
}

Result<void> make_instance_directory(std::string_view name) {
    const auto directory = instance_directory(name);
    if (base_directory() == pmd::runtime_directory()) return pmd::make_runtime_directory(directory);
    std::error_code error;
    std::filesystem::create_directories(directory.parent_path(), error);
    if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        return failure(errno, fmt::format("{}: {}; run as root, or set XDG_RUNTIME_DIR to a directory of yours",
                                          directory.string(), std::strerror(errno)));
    return pmd::check_path(directory, pmd::runtime_advice);
}

std::vector<InstancePlace> instance_places() {
    std::vector<InstancePlace> places;
    const auto services = std::filesystem::path(services_directory) / "dpdk";
    for (const auto& directory : std::set<std::filesystem::path>{"/var/run/dpdk", runtime_directory()})
        if (directory != services) add_places(directory, places);
    add_places(services, places, trust_in_services());
    std::ranges::sort(places, {}, &InstancePlace::name);
    return places;
}

std::vector<Instance> running_instances() {
    return search_instances().found;
}

Result<Instance> find_instance(std::string_view name) {
    const auto [all, untrusted] = search_instances();
    if (name.empty() ? all.empty() : std::ranges::find(all, name, &Instance::name) == all.end())
        if (untrusted) return std::unexpected(*untrusted);
    if (all.empty()) return failure(ENOENT, "nothing is running; start a gateway with `verbline gateway CONFIG.toml`");
    if (name.empty() && all.size() == 1) return all.front();
    std::vector<std::string_view> names;
    names.reserve(all.size());
    for (const auto& instance : all) names.push_back(instance.name);
    if (name.empty())
        return failure(EINVAL, fmt::format("several are running; name one of {}", fmt::join(names, ", ")));
    if (const auto found = std::ranges::find(all, name, &Instance::name); found != all.end()) return *found;
    return failure(ENOENT, fmt::format("{} is not running; running: {}", name, fmt::join(names, ", ")));
}

}  // namespace verbline::cli
