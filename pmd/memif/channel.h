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

class Channel {
public:
    enum class Received : std::uint8_t {
        message,
        nothing,
        closed,
        malformed,  ///< another size, or more than one descriptor
    };

    Channel() = default;
    explicit Channel(FileDescriptor fd) : fd_(std::move(fd)) {}

    explicit operator bool() const { return static_cast<bool>(fd_); }
    void close() { fd_ = FileDescriptor(); }

    /// False if the peer is gone or does not read.
    bool send(const Message& message, int descriptor = -1);
    /// `descriptor` becomes the one that came with the message, or none. Those of a malformed message are closed.
    Received receive(Message& message, FileDescriptor& descriptor);
    /// Says why, and hangs up.
    void refuse(std::string_view reason);

private:
    FileDescriptor fd_;
};

/// Connects to a server; an error while nobody listens there. EPERM: the path or the server is somebody else's than
/// root's, ours or that user's.
Result<Channel> connect_to(const std::string& path, const Trust& trust);
/// EPERM: what there is of the path could be replaced by somebody whom we do not trust. Connects to nobody.
Result<void> check_place(const std::string& path, const Trust& trust);
/// Its file goes with it.
struct Listener {
    FileDescriptor fd;
    SocketFile file;
};

/// Listens at `path`. A socket file that a dead server left is replaced; a living server's is an error. EPERM: others
/// could take the socket's place.
Result<Listener> listen_at(const std::string& path, const Trust& trust);
/// The next client waiting, if any.
Channel accept_from(const FileDescriptor& listener);

}  // namespace verbline::pmd::memif
