// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control socket between two memif peers: messages of one size, some with a file descriptor. Never blocks.

#include <cstdint>
#include <string>
#include <string_view>

#include "pmd/error.h"
#include "pmd/file_descriptor.h"
#include "pmd/memif/protocol.h"

namespace verbline::pmd::memif {

class Channel {
public:
    enum class Received : std::uint8_t { message, nothing, closed };

    Channel() = default;
    explicit Channel(FileDescriptor fd) : fd_(std::move(fd)) {}

    explicit operator bool() const { return static_cast<bool>(fd_); }
    void close() { fd_ = FileDescriptor(); }

    /// False if the peer is gone or does not read.
    bool send(const Message& message, int descriptor = -1);
    /// Anything that is not a message counts as closed.
    Received receive(Message& message, FileDescriptor& descriptor);
    /// Says why, and hangs up.
    void refuse(std::string_view reason);

private:
    FileDescriptor fd_;
};

/// Connects to a server; an error while nobody listens there.
Result<Channel> connect_to(const std::string& path);
/// Listens at `path`. A socket file that a dead server left is replaced; a living server's is an error.
Result<FileDescriptor> listen_at(const std::string& path);
/// The next client waiting, if any.
Channel accept_from(const FileDescriptor& listener);

}  // namespace verbline::pmd::memif
