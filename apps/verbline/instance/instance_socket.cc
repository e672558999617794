// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/instance_socket.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <fmt/format.h>

namespace verbline::cli {
namespace {

constexpr std::string_view trust_advice = "its output is not trusted; remove it, or run this as its owner";

}  // namespace

Result<InstanceSocket> InstanceSocket::connect(const std::filesystem::path& socket, const pmd::Trust& trust) {
    const std::string path = socket;
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof address.sun_path) return failure(ENAMETOOLONG, path + ": too long for a socket's path");
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (auto good = pmd::check_path(path, trust_advice, trust); !good) return std::unexpected(good.error());

    FileDescriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    // The server itself answers within a second; connect waits as well, while the server's backlog is full.
    const timeval limit{.tv_sec = 3, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failure(errno, fmt::format("{}: {}", path, std::strerror(errno)));
    if (auto good = pmd::check_server(fd.get(), path, trust_advice, trust); !good) return std::unexpected(good.error());
    return InstanceSocket(std::move(fd), path);
}

Result<void> InstanceSocket::send(std::string_view packet) {
    if (::send(fd_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0)
        return failure(errno, fmt::format("{}: {}", path_, std::strerror(errno)));
    return {};
}

Result<std::string> InstanceSocket::receive() {
    std::string text(longest_packet, '\0');
    const auto n = recv(fd_.get(), text.data(), text.size(), 0);
    if (n == 0) return failure(ECONNRESET, path_ + ": the process closed the connection");
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return failure(ETIMEDOUT, path_ + ": no answer within 3 s; the process may be stopped");
    if (n < 0) return failure(errno, fmt::format("{}: {}", path_, std::strerror(errno)));
    text.resize(static_cast<std::size_t>(n));
    return text;
}

}  // namespace verbline::cli
