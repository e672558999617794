// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/mounts.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbline::verbs {

namespace fs = std::filesystem;

std::unexpected<Error> system_failure(std::string_view what) {
    const int code = errno;
    return failure(code, fmt::format("{}: {}", what, std::strerror(code)));
}

Result<void> write_file(const fs::path& file, const std::string& text) {
    const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!out || write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return system_failure(file.string());
    return {};
}

Result<void> make_directories(const fs::path& path) {
    std::error_code problem;
    fs::create_directories(path, problem);
    if (problem) return failure(problem.value(), fmt::format("{}: {}", path.string(), problem.message()));
    return {};
}

Result<void> mount_on(const char* source, const fs::path& target, const char* type, unsigned long flags,
                      const std::string& data) {
    if (mount(source, target.c_str(), type, flags, data.empty() ? nullptr : data.c_str()) != 0)
        return system_failure(fmt::format("mount on {}", target.string()));
    return {};
}

// glibc 2.36 has these two calls; the C library of an older build host may not.
FileDescriptor copy_of_mounts(const fs::path& path) {
    return FileDescriptor(static_cast<int>(
        syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
}

Result<void> attach(const FileDescriptor& mounts, const fs::path& at) {
    if (syscall(SYS_move_mount, mounts.get(), "", AT_FDCWD, at.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
        return system_failure(at.string());
    return {};
}

}  // namespace verbline::verbs
