// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An owned file descriptor: closed when it goes out of scope.

#include <utility>

#include <unistd.h>

namespace verbline {

class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}  ///< as returned by a system call; negative means none
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor() {
        if (fd_ >= 0) close(fd_);
    }

    int get() const { return fd_; }
    /// Releases ownership: the caller must close the returned descriptor.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

}  // namespace verbline
