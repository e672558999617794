// SPDX-License-Identifier: BSD-3-Clause

// Files of sysfs, for librdmacm and programs of the project it comes from.

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "apps/libibverbs/abi/unpublished.h"

namespace {

struct File {
    int descriptor;
    ~File() {
        const int kept = errno;
        if (descriptor >= 0) close(descriptor);
        errno = kept;
    }
};

/// Reads until the end of the file or until `room` is full. Returns the bytes read, or -1 and errno.
ssize_t read_all(int descriptor, std::span<char> room) {
    std::size_t size = 0;
    while (size < room.size()) {
        const auto got = read(descriptor, &room[size], room.size() - size);
        if (got == 0) break;
        if (got < 0 && errno != EINTR) return -1;
        if (got > 0) size += static_cast<std::size_t>(got);
    }
    return static_cast<ssize_t>(size);
}

/// RDMA_USER_CM_ABI_VERSION of the rdma_cm device, which is always ours: sysfs is not read.
constexpr std::string_view rdma_cm_version = "4";

bool is_rdma_cm_version(std::string_view path) {
    return path.ends_with("/class/misc/rdma_cm/abi_version") || path.ends_with("/class/infiniband_ucma/abi_version");
}

int fail(std::span<char> buffer, int why) {
    if (!buffer.empty()) buffer[0] = '\0';
    errno = why;
    return -1;
}

}  // namespace

extern "C" {

const char* ibv_get_sysfs_path() {
    // Our entries are in the namespace's own /sys/class. secure_getenv: null in setuid and similar programs.
    const char* path = secure_getenv("SYSFS_PATH");
    return path != nullptr && *path != '\0' ? path : "/sys";
}

int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, std::size_t size) {
    const std::span<char> room(buffer, size);
    const std::string path = std::string(directory) + "/" + file;
    if (is_rdma_cm_version(path)) {
        if (room.size() <= rdma_cm_version.size()) return fail(room, EMSGSIZE);
        room[rdma_cm_version.copy(room.data(), room.size())] = '\0';
        return static_cast<int>(rdma_cm_version.size());
    }
    const File opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (opened.descriptor < 0) return fail(room, errno);
    const auto got = read_all(opened.descriptor, room);
    if (got < 0) return fail(room, errno);

    auto length = static_cast<std::size_t>(got);
    if (length > 0 && room[length - 1] == '\n') --length;
    if (length == room.size()) return fail(room, EMSGSIZE);
    room[length] = '\0';
    return static_cast<int>(length);
}

}  // extern "C"
