// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A piece of memory that two processes see, held by a memfd.

#include <cstddef>
#include <span>
#include <utility>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd::memif {

class SharedMemory {
public:
    /// New and zeroed.
    static Result<SharedMemory> create(std::size_t size);
    /// A peer's. Refused unless it has that many bytes and is sealed against shrinking: touching a page that the peer
    /// has cut off would kill this process. A hole in it becomes a page of zeros when it is touched; not so in huge
    /// pages, of which there may be none left: those are sealed against holes here, and filled, or refused.
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
