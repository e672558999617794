// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A client's end of a SOCK_SEQPACKET Unix socket, on which anything can be said, with any descriptors.

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::test {

/// Empty if nobody listens there, or those who do are busy. Never blocks, nor does what is sent on it.
inline FileDescriptor connect_to(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool connected = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    return connected ? std::move(fd) : FileDescriptor();
}

/// Two ends that are connected with each other; neither blocks.
inline std::pair<FileDescriptor, FileDescriptor> socket_pair() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// One packet, with at most eight descriptors. False: the other end is gone or has no room.
inline bool send_packet(const FileDescriptor& to, std::span<const std::byte> bytes, std::span<const int> fds = {}) {
    iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr outer{.msg_iov = &vector, .msg_iovlen = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
    if (!fds.empty()) {
        outer.msg_control = control.data();
        outer.msg_controllen = CMSG_SPACE(fds.size_bytes());
        auto* const header = CMSG_FIRSTHDR(&outer);
        *header = {.cmsg_len = CMSG_LEN(fds.size_bytes()), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    return sendmsg(to.get(), &outer, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

}  // namespace verbline::test
