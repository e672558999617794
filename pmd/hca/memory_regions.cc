// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/memory_regions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <rte_mempool.h>

#include <fmt/format.h>

namespace verbline::pmd::hca {
namespace {

struct Piece {
    std::uintptr_t begin, end;
};

/// The memory of the pools, neighbouring pieces as one: on ordinary pages a pool may be thousands of them.
std::vector<Piece> pieces_of(const PacketPools& pools, std::size_t threads) {
    std::vector<rte_mempool*> seen;
    std::vector<Piece> pieces;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        auto* const pool = pools[thread];
        if (std::ranges::find(seen, pool) != seen.end()) continue;
        seen.push_back(pool);
        rte_mempool_mem_iter(
            pool,
            [](rte_mempool*, void* out, rte_mempool_memhdr* memory, unsigned) {
                const auto begin = reinterpret_cast<std::uintptr_t>(memory->addr);
                static_cast<std::vector<Piece>*>(out)->push_back({begin, begin + memory->len});
            },
            &pieces);
    }
    std::ranges::sort(pieces, {}, &Piece::begin);
    std::vector<Piece> joined;
    for (const auto& piece : pieces) {
        if (!joined.empty() && joined.back().end == piece.begin) {
            joined.back().end = piece.end;
        } else {
            joined.push_back(piece);
        }
    }
    return joined;
}

}  // namespace

Result<MemoryRegions> MemoryRegions::create(const Verbs& verbs, ibv_pd& domain, const PacketPools& pools,
                                            std::size_t threads) {
    MemoryRegions made;
    for (const auto& piece : pieces_of(pools, threads)) {
        const auto size = piece.end - piece.begin;
        Owned<ibv_mr> registered(
            verbs.reg_mr(&domain, reinterpret_cast<void*>(piece.begin), size, IBV_ACCESS_LOCAL_WRITE),
            {verbs.dereg_mr});
        if (!registered) {
            const int error = verbs.error();
            const auto* const cure = error == ENOMEM || error == EAGAIN || error == EPERM
                                         ? "; raise the limit of locked memory (ulimit -l unlimited, "
                                           "LimitMEMLOCK=infinity), or run as root"
                                         : "";
            return failure(error, fmt::format("RDMA device {} cannot register {} MB of packet memory: {}{}",
                                              domain.context->device->name, size >> 20, std::strerror(error), cure));
        }
        made.regions_.push_back({piece.begin, size, std::move(registered)});
    }
    return made;
}

}  // namespace verbline::pmd::hca
