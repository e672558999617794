// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control socket between two memif peers: messages of one size, some with a file descriptor. Never blocks.

#include <cstdint>
#include <string>
#include <string_view>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/base/socket_file.h"
#include "pmd/memif/protocol.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::pmd::memif {

class ControlSocket {
public:
    enum class Received : std::uint8_t {
        message,
        nothing,
        closed,
        malformed,  ///< wrong size, or more than one descriptor
    };

    ControlSocket() = default;
    explicit ControlSocket(FileDescriptor fd) : fd_(std::move(fd)) {}

    explicit operator bool() const { return static_cast<bool>(fd_); }
    void close() { fd_ = FileDescriptor(); }

    /// Sends a message, with a descriptor unless it is -1. False if the peer is gone or its socket is full.
    bool send(const Message& message, int descriptor = -1);
    /// Stores the descriptor received with the message, if any, in `descriptor`. Those of a malformed message are
    /// closed.
    Received receive(Message& message, FileDescriptor& descriptor);
    /// Sends a disconnect message with `reason` and closes the socket.
    void refuse(std::string_view reason);

private:
    FileDescriptor fd_;
};

/// Connects to a server; an error if none listens there. EPERM: the path or the server does not belong to a trusted
/// user.
Result<ControlSocket> connect_to(const std::string& path, const Trust& trust);
/// Checks the existing part of the path without connecting. EPERM: a user who is not trusted could replace it.
Result<void> check_place(const std::string& path, const Trust& trust);
/// A listening socket, whose file is unlinked on destruction.
struct Listener {
    FileDescriptor fd;
    SocketFile file;
};

/// Listens at `path`. Replaces the stale socket file of a dead server; a live server's is an error. EPERM: another user
/// could replace the socket.
Result<Listener> listen_at(const std::string& path, const Trust& trust);
/// Accepts the next pending client; an empty socket if there is none.
ControlSocket accept_from(const FileDescriptor& listener);

}  // namespace verbline::pmd::memif
