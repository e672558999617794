// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The send side of a UD queue pair: bursts as chains of work requests, whose buffers stay posted until the device is
/// done with them.
///
/// Only the last request of a chain is signalled: it completes all before it. Small datagrams are copied into the
/// request (inline), which spares the device a read of memory, and free their buffer at once.
///
/// A large TCP packet is one request, whose header is in the request itself, where the device segments. If such a
/// request fails the device is not asked for more (NetDevice::segments): those under way are dropped, rather than the
/// queue pair lost again.

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <rte_mbuf.h>

#include "pmd/hca/address_handles.h"
#include "pmd/hca/counters.h"
#include "pmd/hca/memory_regions.h"
#include "pmd/hca/verbs.h"
#include "pmd/netdev.h"

namespace verbline::pmd::hca {

/// Of IPoIB, IP and TCP in a large packet, each at its longest but for extension headers of IPv6, bytes.
constexpr std::uint16_t longest_tso_header = 4 + 60 + 60;

class SendQueue {
public:
    struct Setup {
        const Verbs& verbs;
        const MemoryRegions& regions;
        rte_mempool& pool;  ///< for copies; of the regions
        ibv_pd& domain;
        ibv_qp& queue_pair;
        ibv_cq& completions;
        std::uint8_t port = 1;
        std::uint32_t depth = 0;     ///< requests that the queue pair takes
        std::uint16_t segments = 1;  ///< pieces that a request may have
        std::uint32_t inline_size = 0;
        std::uint32_t max_tso = 0;              ///< bytes of the largest packet that the device segments; 0: none
        std::atomic<bool>* does_tso = nullptr;  ///< of all queues: false once the device has failed at it
        HcaTxCounters& counters;
    };
    explicit SendQueue(const Setup& setup);
    SendQueue(const SendQueue&) = delete;
    SendQueue& operator=(const SendQueue&) = delete;
    ~SendQueue() { clear(); }

    /// While nobody sends. Frees what was posted, and destroys the address handles: of a queue pair that has been
    /// reset.
    void clear();
    /// Likewise.
    void set_port(const PortFacts& facts);

    /// As NetDevice::send.
    std::uint16_t send(std::span<const Datagram> burst) noexcept;
    /// Frees what the device is done with.
    void reap() noexcept;
    bool failed() const { return failed_.load(std::memory_order_relaxed); }  ///< as ReceiveQueue's

private:
    static constexpr std::uint64_t checksum_requests = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK;
    static bool is_large(const rte_mbuf& payload) { return (payload.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0; }
    /// Bytes in front of what is segmented.
    static std::uint16_t header_size(const rte_mbuf& payload) {
        return static_cast<std::uint16_t>(payload.l2_len + payload.l3_len + payload.l4_len);
    }

    /// Room for the next request of a chain.
    struct Chain {
        std::size_t requests = 0, pieces = 0;
        bool has_large = false;  ///< packets that the device segments
    };

    void add(Chain& chain, const Datagram& datagram) noexcept;
    Counter* prepare(rte_mbuf& payload) noexcept;
    Counter* prepare_large(rte_mbuf& payload) noexcept;
    int gather(const rte_mbuf& payload, std::uint16_t from, std::span<ibv_sge> pieces) const noexcept;
    bool copy_into_regions(rte_mbuf*& payload) noexcept;
    void post(Chain& chain) noexcept;
    void complete(const ibv_wc& completion) noexcept;
    void drop(rte_mbuf* payload, Counter& reason) noexcept;
    void fail() { failed_.store(true, std::memory_order_relaxed); }

    const Setup setup_;
    AddressHandles addresses_;
    std::uint32_t mtu_ = 0;
    std::vector<rte_mbuf*> posted_;          ///< by the request's number modulo their number; null: sent inline
    std::uint64_t next_ = 0, complete_ = 0;  ///< requests [complete_, next_) are under way
    std::array<ibv_send_wr, max_burst> requests_;
    std::array<rte_mbuf*, max_burst> payloads_;  ///< of `requests_`
    std::vector<ibv_sge> pieces_;
    std::atomic<bool> failed_{false};
};

}  // namespace verbline::pmd::hca
