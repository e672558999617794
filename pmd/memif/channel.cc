// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

namespace verbline::pmd::memif {
namespace {

constexpr int backlog = 8;

Result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX};
    if (path.empty() || path.size() >= sizeof(address.sun_path)) {
        return failure(EINVAL,
                       fmt::format("memif socket path `{}`: 1 to {} characters", path, sizeof(address.sun_path) - 1));
    }
    path.copy(address.sun_path, path.size());
    return address;
}

FileDescriptor new_socket() {
    return FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

std::unexpected<Error> failed(const std::string& path, const char* what) {
    const int code = errno;
    return failure(code, fmt::format("memif socket {}: {}: {}", path, what, std::strerror(code)));
}

/// One file descriptor beside a message.
union Control {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

}  // namespace

bool Channel::send(const Message& message, int descriptor) {
    iovec vector{const_cast<Message*>(&message), sizeof(message)};
    msghdr outer{.msg_iov = &vector, .msg_iovlen = 1};
    Control control{};
    if (descriptor >= 0) {
        control.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        std::memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
        outer.msg_control = &control;
        outer.msg_controllen = sizeof(control);
    }
    return sendmsg(fd_.get(), &outer, MSG_NOSIGNAL) == sizeof(message);
}

Channel::Received Channel::receive(Message& message, FileDescriptor& descriptor) {
    iovec vector{&message, sizeof(message)};
    Control control{};
    msghdr outer{.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    const auto bytes = recvmsg(fd_.get(), &outer, MSG_CMSG_CLOEXEC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return Received::nothing;
    const auto* header = CMSG_FIRSTHDR(&outer);
    if (bytes >= 0 && header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        descriptor = FileDescriptor(fd);
    }
    return bytes == sizeof(message) ? Received::message : Received::closed;
}

void Channel::refuse(std::string_view reason) {
    if (!fd_) return;
    Message message{.type = MessageType::disconnect};
    message.disconnect = {};
    reason.copy(message.disconnect.reason.data(), message.disconnect.reason.size() - 1);
    send(message);
    close();
}

Result<Channel> connect_to(const std::string& path) {
    const auto address = address_of(path);
    if (!address) return std::unexpected(address.error());
    auto fd = new_socket();
    if (!fd) return failed(path, "socket");
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
        return failed(path, "nobody serves it");
    }
    return Channel(std::move(fd));
}

Result<FileDescriptor> listen_at(const std::string& path) {
    const auto address = address_of(path);
    if (!address) return std::unexpected(address.error());
    if (const auto living = connect_to(path)) {
        return failure(EADDRINUSE, fmt::format("memif socket {} is served by another process; stop that first", path));
    } else if (living.error().code == ECONNREFUSED) {
        unlink(path.c_str());  // a socket file without a listener: its server was killed
    }
    auto fd = new_socket();
    if (!fd) return failed(path, "socket");
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
        return failed(path, "cannot be created; does its directory exist?");
    }
    if (listen(fd.get(), backlog) != 0) return failed(path, "listen");
    return fd;
}

Channel accept_from(const FileDescriptor& listener) {
    return Channel(FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)));
}

}  // namespace verbline::pmd::memif
