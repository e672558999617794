// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A piece of memory that two processes see, held by a memfd.

#include <cstddef>
#include <span>
#include <utility>

#include "pmd/error.h"
#include "pmd/file_descriptor.h"

namespace verbline::pmd::memif {

class SharedMemory {
public:
    /// New and zeroed.
    static Result<SharedMemory> create(std::size_t size);
    /// A peer's. Refused unless it has that many bytes and is sealed against shrinking: touching a page that the peer
    /// has cut off would kill this process.
    static Result<SharedMemory> map(FileDescriptor fd, std::size_t size);

    SharedMemory(SharedMemory&& other) noexcept
        : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, std::span<std::byte>())) {}
    SharedMemory& operator=(SharedMemory&&) = delete;
    ~SharedMemory();

    int fd() const { return fd_.get(); }
    std::span<std::byte> bytes() const { return bytes_; }

private:
    SharedMemory(FileDescriptor fd, std::span<std::byte> bytes) : fd_(std::move(fd)), bytes_(bytes) {}

    FileDescriptor fd_;
    std::span<std::byte> bytes_;
};

}  // namespace verbline::pmd::memif
