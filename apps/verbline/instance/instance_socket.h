// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A connection to a socket of another process, which is not trusted: waits are limited, and answers may be missing or
/// malformed.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::cli {

class InstanceSocket {
public:
    static constexpr std::size_t longest_packet = 64 * 1024;  ///< DPDK's answers have 16 KiB

    /// ECONNREFUSED if no process serves the socket, EPERM if it is not root's or ours (pmd/runtime/trusted_path.h).
    static Result<InstanceSocket> connect(const std::filesystem::path& socket, const pmd::Trust& trust = {});

    Result<void> send(std::string_view packet);
    /// ETIMEDOUT after three seconds, ECONNRESET if the process closed the connection.
    Result<std::string> receive();

    const std::string& path() const { return path_; }

private:
    InstanceSocket(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    FileDescriptor fd_;
    std::string path_;
};

}  // namespace verbline::cli
