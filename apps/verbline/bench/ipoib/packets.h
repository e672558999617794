// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The IP packets of a case, as the owner of a link hands them over: complete, or with offload requests.
///
///     size <= MTU   UDP   complete: checksums are right        requests: checksums are to be computed
///     size > MTU    TCP   complete: a segment for each frame   requests: one packet, to be cut; a chain of buffers

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/verbline/bench/ipoib/plan.h"
#include "pmd/base/error.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::ipoib_bench {

class Packets {
public:
    /// ENOMEM: the pool has not enough buffers for one packet.
    static Result<Packets> make(const Case& one, std::uint16_t mtu, rte_mempool& pool);

    /// Handed over for one packet of the case; above 1 if it is cut already.
    std::size_t pieces() const { return pieces_.size(); }
    /// That one packet of the case becomes on a link.
    std::size_t frames() const { return frames_; }
    /// Makes `out` piece `first` and those behind it, from the first one again behind the last. False: the pool is
    /// empty, and `out` has nothing.
    bool fill(pmd::Burst out, std::size_t first, rte_mempool& pool) const;

private:
    using Piece = std::vector<std::byte>;

    rte_mbuf* make_packet(const Piece& bytes, bool requests, rte_mempool& pool) const;
    Result<void> complete(rte_mempool& pool);

    bool tcp_ = false, requests_ = false;
    std::uint16_t segment_size_ = 0;  ///< of TCP's payload
    std::size_t frames_ = 1;
    std::vector<Piece> pieces_;
};

}  // namespace verbline::ipoib_bench
