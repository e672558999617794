// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Running instances and where they are found.
///
/// An instance called NAME has the DPDK file prefix `verbline-NAME`; everything of it lies in the directory of that
/// prefix under DPDK's runtime directory:
///
///     /var/run/dpdk/verbline-NAME/dpdk_telemetry.v2    its tables (root)
///     $XDG_RUNTIME_DIR/dpdk/...                        anyone else's; without it /tmp/verbline-UID/dpdk/...
///     $RUNTIME_DIRECTORY/dpdk/...                      under systemd: /run/verbline-services, of the services' user
///     .../verbline.lock                                marks an instance; held locked while it runs
///     .../trace.N                                      what its shard N did last (pmd/trace/trace_file.h)
///
/// Programs under `verbline run` that connect by RDMA CM are found where control/telemetry/program_directory.h says, by
/// the name PROGRAM-PID.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "pmd/base/error.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::cli {

/// Letters, digits, '.', '_' and '-', at most 64, the first a letter or digit: it becomes part of a path.
bool valid_instance_name(std::string_view name);

/// In the instance's directory; held locked (flock) while it runs.
inline constexpr std::string_view lock_file = "verbline.lock";

std::string file_prefix(std::string_view name);

/// DPDK's directory for processes of this user and environment.
std::filesystem::path runtime_directory();
std::filesystem::path instance_directory(std::string_view name);
/// EPERM: others could put their sockets there.
Result<void> make_instance_directory(std::string_view name);

struct Instance {
    std::string name;
    pid_t pid = 0;
    std::filesystem::path socket;  ///< telemetry
    pmd::Trust trust = {};         ///< in whoever serves it

    bool operator==(const Instance&) const = default;
};

/// Where an instance is, or was: its directory is left behind.
struct InstancePlace {
    std::string name;
    std::filesystem::path directory;
    pmd::Trust trust = {};
};

/// The directories of instances: root's, the services', this user's and those of this environment.
std::vector<InstancePlace> instance_places();

/// Instances and programs that answer on their socket, sorted by name: root's, the services', this user's and those
/// of this environment. Removes sockets that killed programs have left; skips those of other users.
std::vector<Instance> running_instances();

/// The one called `name`, or the only one if `name` is empty. The error lists the running ones, or how to start one.
Result<Instance> find_instance(std::string_view name);

}  // namespace verbline::cli
