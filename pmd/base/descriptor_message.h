// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages on a Unix socket, each with at most one file descriptor (SCM_RIGHTS).

#include <cstddef>
#include <cstring>
#include <span>

#include <sys/socket.h>

#include "pmd/base/file_descriptor.h"

namespace verbline {

/// Control-message buffer for exactly one descriptor: the kernel discards further ones and sets MSG_CTRUNC.
union DescriptorRoom {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/// As send(2); also passes a duplicate of `descriptor` to the receiver unless it is -1. MSG_NOSIGNAL is added to
/// `flags`.
inline ssize_t send_with_descriptor(int socket, std::span<const std::byte> bytes, int descriptor, int flags = 0) {
    iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr outer{.msg_iov = &vector, .msg_iovlen = 1};
    DescriptorRoom room{};
    if (descriptor >= 0) {
        room.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        std::memcpy(CMSG_DATA(&room.header), &descriptor, sizeof(descriptor));
        outer.msg_control = &room;
        outer.msg_controllen = sizeof(room);
    }
    return sendmsg(socket, &outer, flags | MSG_NOSIGNAL);
}

struct DescriptorMessage {
    ssize_t size = -1;          ///< as recv(2) returns; on -1 errno is set
    bool whole = false;         ///< not truncated, and with at most one descriptor
    FileDescriptor descriptor;  ///< the descriptor received, if any; none unless `whole`
};

/// As recv(2). Received descriptors that are not returned are closed.
inline DescriptorMessage receive_with_descriptor(int socket, std::span<std::byte> bytes, int flags = 0) {
    iovec vector{bytes.data(), bytes.size()};
    DescriptorRoom room{};
    msghdr outer{.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = CMSG_LEN(sizeof(int))};
    DescriptorMessage received{.size = recvmsg(socket, &outer, flags | MSG_CMSG_CLOEXEC), .descriptor = {}};
    if (received.size < 0) return received;
    const auto* const header = CMSG_FIRSTHDR(&outer);
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        received.descriptor = FileDescriptor(fd);
    }
    received.whole = (outer.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    if (!received.whole) received.descriptor = FileDescriptor();
    return received;
}

}  // namespace verbline
