// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/control_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "pmd/base/descriptor_message.h"
#include "pmd/runtime/runtime_directory.h"

namespace verbline::pmd::memif {
namespace {

constexpr int backlog = 8;
constexpr auto advice = "use a directory that only root and you may write to, or name whom you trust with `,owner=UID`";

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

std::unexpected<Error> untrusted(const Error& why) {
    return failure(why.code, "memif socket " + why.what);
}

}  // namespace

bool ControlSocket::send(const Message& message, int descriptor) {
    return send_with_descriptor(fd_.get(), std::as_bytes(std::span(&message, 1)), descriptor) == sizeof(message);
}

ControlSocket::Received ControlSocket::receive(Message& message, FileDescriptor& descriptor) {
    auto received = receive_with_descriptor(fd_.get(), std::as_writable_bytes(std::span(&message, 1)));
    descriptor = FileDescriptor();
    if (received.size < 0 && (errno == EAGAIN || errno == EINTR)) return Received::nothing;
    if (received.size <= 0) return Received::closed;
    if (!received.whole || received.size != sizeof(message)) return Received::malformed;
    descriptor = std::move(received.descriptor);
    return Received::message;
}

void ControlSocket::refuse(std::string_view reason) {
    if (!fd_) return;
    Message message{.type = MessageType::disconnect};
    message.disconnect = {};
    reason.copy(message.disconnect.reason.data(), message.disconnect.reason.size() - 1);
    send(message);
    close();
}

Result<ControlSocket> connect_to(const std::string& path, const Trust& trust) {
    const auto address = address_of(path);
    if (!address) return std::unexpected(address.error());
    if (auto good = check_path(path, advice, trust); !good) return untrusted(good.error());
    auto fd = new_socket();
    if (!fd) return failed(path, "socket");
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
        return failed(path, "no server listens on it");
    }
    if (auto good = check_server(fd.get(), path, advice, trust); !good) return untrusted(good.error());
    return ControlSocket(std::move(fd));
}

Result<void> check_place(const std::string& path, const Trust& trust) {
    auto good = check_path(path, advice, trust);
    if (!good && good.error().code == EPERM) return untrusted(good.error());
    return {};
}

Result<Listener> listen_at(const std::string& path, const Trust& trust) {
    const auto address = address_of(path);
    if (!address) return std::unexpected(address.error());
    const auto directory = std::filesystem::absolute(path).parent_path();
    if (directory == runtime_directory()) {
        if (auto made = make_runtime_directory(directory); !made) return untrusted(made.error());
    }
    if (auto good = check_place(directory, trust); !good) return std::unexpected(good.error());
    if (const auto living = connect_to(path, trust)) {
        return failure(EADDRINUSE, fmt::format("memif socket {} is served by another process; stop that first", path));
    } else if (living.error().code == EPERM) {
        return std::unexpected(living.error());
    } else if (living.error().code == ECONNREFUSED) {
        unlink(path.c_str());  // a socket file without a listener: its server was killed
    }
    auto fd = new_socket();
    if (!fd) return failed(path, "socket");
    auto bound = path;
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
        return failed(path, "cannot be created; does its directory exist?");
    }
    Listener listener{std::move(fd), SocketFile(std::move(bound))};
    if (listen(listener.fd.get(), backlog) != 0) return failed(path, "listen");
    return listener;
}

ControlSocket accept_from(const FileDescriptor& listener) {
    return ControlSocket(FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)));
}

}  // namespace verbline::pmd::memif
