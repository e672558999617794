// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/device_nodes.h"

#include <cerrno>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/libibverbs/namespace/mounts.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

constexpr unsigned null_major = 1, null_minor = 3;  // Documentation/admin-guide/devices.txt of Linux

/// Creates a node as /dev/null. Programs only check that it is a character device, and what they open by this name
/// reaches our library; the number of an RDMA device would open the machine's own adapter.
Result<void> build_node(const fs::path& node) {
    if (mknod(node.c_str(), S_IFCHR | 0666, makedev(null_major, null_minor)) == 0) {
        if (chmod(node.c_str(), 0666) != 0) return system_failure(node.string());
        return {};
    }
    if (auto done = write_file(node, {}); !done) return done;
    return mount_on("/dev/null", node, nullptr, MS_BIND);
}

Result<void> build_nodes(const fs::path& directory, std::size_t count) {
    for (unsigned i = 0; i < count; ++i) {
        for (const auto* kind : {"uverbs", "umad"})
            if (auto done = build_node(directory / fmt::format("{}{}", kind, i)); !done) return done;
    }
    return build_node(directory / "rdma_cm");
}

struct Entry {
    std::string name;
    fs::path link;  ///< of a symbolic link
    bool directory = false;
    FileDescriptor mount;  ///< a copy of the mount it is, with those below it
};

/// The old /dev as a whole, inside the new one. What needs it is ptmx: opening it makes the kernel look for its sibling
/// `pts` in the file system it comes from (fs/devpts), which a mount of the file alone is cut off from.
constexpr std::string_view old_dev = ".machine";

/// Copies the entries of /dev, as detached mounts and symbolic links.
Result<std::vector<Entry>> copy_of_dev() {
    std::vector<Entry> entries;
    std::error_code problem;
    for (const auto& found : fs::directory_iterator("/dev", problem)) {
        Entry entry{.name = found.path().filename(), .link = {}, .mount = {}};
        const auto type = found.symlink_status(problem).type();
        if (type == fs::file_type::symlink) {
            entry.link = fs::read_symlink(found.path(), problem);
        } else if (entry.name == "ptmx") {
            entry.link = fs::path(old_dev) / "ptmx";
        } else {
            entry.directory = type == fs::file_type::directory;
            entry.mount = copy_of_mounts(found.path());
            if (!entry.mount) continue;  // removed meanwhile, or not accessible
        }
        entries.push_back(std::move(entry));
    }
    if (problem) return failure(problem.value(), fmt::format("/dev: {}", problem.message()));
    entries.push_back({.name = std::string(old_dev), .link = {}, .directory = true, .mount = copy_of_mounts("/dev")});
    if (!entries.back().mount) return system_failure("/dev");
    return entries;
}

/// Puts `entries` into `directory`, a tmpfs that is /dev from then on.
Result<void> restore(const fs::path& directory, std::span<const Entry> entries) {
    for (const auto& entry : entries) {
        const auto at = directory / entry.name;
        if (!entry.link.empty()) {
            if (symlink(entry.link.c_str(), at.c_str()) != 0) return system_failure(at.string());
            continue;
        }
        if (entry.directory ? mkdir(at.c_str(), 0755) != 0 : mknod(at.c_str(), S_IFREG | 0644, 0) != 0)
            return system_failure(at.string());
        if (auto done = attach(entry.mount, at); !done) return done;
    }
    return {};
}

}  // namespace

/// /dev itself is the machine's, and a directory made in it would be seen by all. Where it has no /dev/infiniband to
/// mount on, it becomes a tmpfs with the same entries: mounts of the old ones, so shm, pts and mqueue stay what they
/// are.
Result<void> build_dev(const fs::path& scaffold, std::size_t count) {
    const auto nodes = scaffold / "nodes";
    if (auto done = make_directories(nodes); !done) return done;
    if (auto done = build_nodes(nodes, count); !done) return done;
    std::error_code problem;
    if (!fs::is_directory("/dev/infiniband", problem)) {
        const auto entries = copy_of_dev();
        if (!entries) return std::unexpected(entries.error());
        const auto dev = scaffold / "dev";
        if (auto done = make_directories(dev / "infiniband"); !done) return done;
        if (auto done = restore(dev, *entries); !done) return done;
        if (auto done = mount_on(dev.c_str(), "/dev", nullptr, MS_BIND | MS_REC); !done) return done;
    }
    return mount_on(nodes.c_str(), "/dev/infiniband", nullptr, MS_BIND | MS_REC);
}

}  // namespace verbline::verbs
