// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Listening on a Unix socket of packets (SOCK_SEQPACKET), as DPDK's telemetry does.

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/base/socket_file.h"

namespace verbline::telemetry {

struct Listening {
    FileDescriptor fd;  ///< non-blocking, close-on-exec
    SocketFile file;
};

/// Listens at `path`, whose directory is there and has no one else's files: a socket of that name, left by a process
/// that was killed, is replaced. `mode`: who may connect, of those whom the umask leaves; none: those alone.
inline Result<Listening> listen_at(const std::filesystem::path& socket, int backlog, std::optional<mode_t> mode = {}) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const auto& path = socket.native();
    if (path.size() >= sizeof(address.sun_path)) {
        return failure(ENAMETOOLONG, fmt::format("{}: too long for a socket's path", path));
    }
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    Listening listening{FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), {}};
    const int fd = listening.fd.get();
    const auto failed = [&] { return failure(errno, fmt::format("{}: {}", path, std::strerror(errno))); };
    auto bound = path;
    unlink(path.c_str());
    if (mode && fchmod(fd, *mode) != 0) return failed();  // before the file is there
    if (!listening.fd || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failed();
    listening.file = SocketFile(std::move(bound));
    if (::listen(fd, backlog) != 0) return failed();
    return listening;
}

}  // namespace verbline::telemetry
