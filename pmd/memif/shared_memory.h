// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Memory shared by two processes, backed by a memfd.

#include <cstddef>
#include <span>
#include <utility>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd::memif {

class SharedMemory {
public:
    /// Creates new, zeroed memory.
    static Result<SharedMemory> create(std::size_t size);
    /// Maps a peer's memory. Fails unless it has `size` bytes and is sealed against shrinking: access to a page that
    /// the peer has truncated would raise SIGBUS. A hole in it becomes a zero page on first access, but with huge pages
    /// there may be none left: those are sealed against holes here and populated, or rejected.
    static Result<SharedMemory> map(FileDescriptor fd, std::size_t size);

    SharedMemory(SharedMemory&& other) noexcept
        : fd_(std::move(other.fd_)),
          bytes_(std::exchange(other.bytes_, std::span<std::byte>())),
          mapped_(std::exchange(other.mapped_, 0)) {}
    SharedMemory& operator=(SharedMemory&&) = delete;
    ~SharedMemory();

    int fd() const { return fd_.get(); }
    std::span<std::byte> bytes() const { return bytes_; }

private:
    SharedMemory(FileDescriptor fd, std::span<std::byte> bytes, std::size_t mapped)
        : fd_(std::move(fd)), bytes_(bytes), mapped_(mapped) {}

    FileDescriptor fd_;
    std::span<std::byte> bytes_;
    std::size_t mapped_;  ///< whole pages
};

}  // namespace verbline::pmd::memif
