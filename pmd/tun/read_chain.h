// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Buffers prepared for readv(2), so that one system call reads a 64 KB packet straight into an mbuf chain.
///
/// Segments that a read leaves unused serve the next: an empty or small read allocates no more than it uses.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/uio.h>

struct rte_mbuf;
struct rte_mempool;

namespace verbline::pmd {

class ReadChain {
public:
    /// Prepares room for `capacity` bytes of packet; each read fills `header` first. The pool must outlive the chain.
    ReadChain(rte_mempool* pool, std::size_t capacity, std::span<std::byte> header);
    ReadChain(const ReadChain&) = delete;
    ReadChain& operator=(const ReadChain&) = delete;
    ~ReadChain();

    /// Replaces the segments that earlier reads took; false if the pool has too few. Call before reading into
    /// `vectors`, which is allowed only if it returns true.
    bool refill();
    std::span<const iovec> vectors() const { return vectors_; }
    std::size_t capacity() const { return room_ * segments_.size(); }

    /// Returns the first `bytes` (> 0) bytes read, without the header, as a packet owned by the caller.
    rte_mbuf* take(std::size_t bytes);

private:
    rte_mempool* pool_;
    std::size_t room_;     ///< bytes in each segment
    std::size_t missing_;  ///< segments taken from the front and not yet replaced
    std::vector<rte_mbuf*> segments_;
    std::vector<iovec> vectors_;  ///< the header, then one for each segment
};

}  // namespace verbline::pmd
