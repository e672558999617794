// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Empty packets laid out ahead of a read, so that one system call takes a 64 KB packet straight into mbufs.
///
/// What a read leaves unused waits for the next: an empty or small read costs no more than what it used.

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
    /// Room for `capacity` bytes of packet behind `header`, which is filled first. The pool outlives the chain.
    ReadChain(rte_mempool* pool, std::size_t capacity, std::span<std::byte> header);
    ReadChain(const ReadChain&) = delete;
    ReadChain& operator=(const ReadChain&) = delete;
    ~ReadChain();

    /// Replaces what earlier reads took; false while the pool has not enough. Only then may `vectors` be read into.
    bool refill();
    std::span<const iovec> vectors() const { return vectors_; }
    std::size_t capacity() const { return room_ * segments_.size(); }

    /// The first `bytes` > 0 bytes that were read, as a packet.
    rte_mbuf* take(std::size_t bytes);

private:
    rte_mempool* pool_;
    std::size_t room_;     ///< bytes in each segment
    std::size_t missing_;  ///< segments taken from the front and not yet replaced
    std::vector<rte_mbuf*> segments_;
    std::vector<iovec> vectors_;  ///< the header, then one for each segment
};

}  // namespace verbline::pmd
