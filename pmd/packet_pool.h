// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Makes a pool of packet buffers, with or without hugepages.
///
/// Without them DPDK begins every buffer on a page, so that no device finds one on two pages that are not neighbours.
/// All mbufs then lie at the same place of a page, and compete for the same few sets of the CPU's caches: each pass
/// over a burst misses. Only a device that reads memory by pages needs that (AF_XDP; an adapter needs hugepages
/// anyway); for others the buffers lie one behind the other, which takes half the memory besides.

#include <cstdint>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

namespace verbline::pmd {

enum class BufferLayout : std::uint8_t {
    packed,
    whole_pages,  ///< none crosses from one page to the next, if it fits one
};

/// As rte_pktmbuf_pool_create: null, and rte_errno, if there is no memory or the name is taken. `room`: of data, with
/// the headroom, in bytes. The caller frees it by rte_mempool_free.
inline rte_mempool* make_packet_pool(const char* name, unsigned packets, unsigned cache, std::uint16_t room, int socket,
                                     BufferLayout layout) {
    if (rte_eal_has_hugepages() != 0 || layout == BufferLayout::whole_pages) {
        return rte_pktmbuf_pool_create(name, packets, cache, 0, room, socket);
    }
    constexpr unsigned flags = RTE_MEMPOOL_F_NO_IOVA_CONTIG;
    auto* const pool = rte_mempool_create_empty(name, packets, static_cast<unsigned>(sizeof(rte_mbuf)) + room, cache,
                                                sizeof(rte_pktmbuf_pool_private), socket, flags);
    if (pool == nullptr) return nullptr;
    rte_pktmbuf_pool_private sizes{};
    sizes.mbuf_data_room_size = room;
    const int error = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);
    if (error == 0) rte_pktmbuf_pool_init(pool, &sizes);
    if (error != 0 || rte_mempool_populate_default(pool) < 0) {
        rte_mempool_free(pool);
        return nullptr;
    }
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
    return pool;
}

}  // namespace verbline::pmd
