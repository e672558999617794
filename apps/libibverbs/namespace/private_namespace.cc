// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/private_namespace.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/libibverbs/namespace/device_nodes.h"
#include "apps/libibverbs/namespace/mounts.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

/// Enters a user namespace that maps this user and group only, each to itself.
Result<void> unshare_with_user() {
    const auto uid = geteuid();
    const auto gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return system_failure("user namespace");
    // user_namespaces(7): without giving up setgroups(2), an unprivileged process may not map its group.
    if (auto done = write_file("/proc/self/setgroups", "deny"); !done) return done;
    if (auto done = write_file("/proc/self/gid_map", fmt::format("{0} {0} 1", gid)); !done) return done;
    return write_file("/proc/self/uid_map", fmt::format("{0} {0} 1", uid));
}

Result<void> unshare_mounts(UserNamespace user) {
    if (unshare(CLONE_NEWNS) != 0) {
        if (errno != EPERM || user == UserNamespace::refused) return system_failure("mount namespace");
        if (auto done = unshare_with_user(); !done) return done;
    }
    // Slave propagation: later mounts of the machine appear here; ours do not appear there.
    return mount_on(nullptr, "/", nullptr, MS_REC | MS_SLAVE);
}

/// A tmpfs in which the rest is built, at a path that exists only while it is built.
class Scaffold {
public:
    static Result<Scaffold> open() {
        std::error_code problem;
        std::string path = fs::temp_directory_path(problem) / "verbline-run-XXXXXX";
        if (mkdtemp(path.data()) == nullptr) return system_failure(path);
        Scaffold scaffold(path);
        if (auto done = mount_on("verbline", path, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755"); !done)
            return std::unexpected(done.error());
        return scaffold;
    }
    Scaffold(Scaffold&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    Scaffold& operator=(Scaffold&&) = delete;
    ~Scaffold() {
        if (path_.empty()) return;
        umount2(path_.c_str(), MNT_DETACH);
        rmdir(path_.c_str());
    }

    const fs::path& path() const { return path_; }

private:
    explicit Scaffold(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

/// sysfs takes no new directories, so an overlay brings the mount points; the trees are bound over them, because what
/// lies below an overlay must not change (Documentation/filesystems/overlayfs.rst) and these files do.
Result<void> build_classes(const fs::path& scaffold, std::span<const DeviceFacts> devices) {
    const auto tree = scaffold / "class", points = scaffold / "points";
    for (const auto& device : devices)
        if (auto done = SysfsTree(tree).update(device); !done) return done;
    for (const auto* name : {"infiniband", "infiniband_verbs", "infiniband_mad", "misc/rdma_cm"})
        if (auto done = make_directories(points / name); !done) return done;
    if (auto done = write_file(points / "misc/rdma_cm/abi_version", "4\n"); !done) return done;
    if (auto done = mount_on("verbline", sysfs_class, "overlay", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                             fmt::format("lowerdir={}:{}", points.string(), sysfs_class));
        !done)
        return done;
    for (const auto* name : {"infiniband", "infiniband_verbs", "infiniband_mad"})
        if (auto done = mount_on((tree / name).c_str(), fs::path(sysfs_class) / name, nullptr, MS_BIND); !done)
            return done;
    return {};
}

}  // namespace

Result<void> enter_private_namespace(std::span<const DeviceFacts> devices, UserNamespace user) {
    if (auto done = unshare_mounts(user); !done) return done;
    const auto scaffold = Scaffold::open();
    if (!scaffold) return std::unexpected(scaffold.error());
    if (auto done = build_classes(scaffold->path(), devices); !done) return done;
    return build_dev(scaffold->path(), devices.size());
}

}  // namespace verbline::verbs
