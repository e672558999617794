// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Owns the file of a bound UNIX socket: unlinks it on destruction.

#include <string>
#include <utility>

#include <unistd.h>

namespace verbline {

class SocketFile {
public:
    SocketFile() = default;
    /// Construct the string before bind(2), so that nothing can fail between the bind and this.
    explicit SocketFile(std::string path) noexcept : path_(std::move(path)) {}
    SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    SocketFile& operator=(SocketFile&& other) noexcept {
        std::swap(path_, other.path_);
        return *this;
    }
    ~SocketFile() {
        if (!path_.empty()) unlink(path_.c_str());
    }

private:
    std::string path_;
};

}  // namespace verbline
