// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The file of a bound UNIX socket: removed when it goes out of scope, however that comes about.

#include <string>
#include <utility>

#include <unistd.h>

namespace verbline {

class SocketFile {
public:
    SocketFile() = default;
    /// Call it with a string made before the bind: nothing may fail in between.
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
