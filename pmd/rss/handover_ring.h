// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A ring by which one thread hands packets to another: one producer, one consumer, no lock.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "pmd/base/error.h"
#include "pmd/base/tunables.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

/// Owns the packets in it.
class HandoverRing {
public:
    static constexpr unsigned capacity = tunables::handover_ring;

    /// `name` is unique in the process, and at most 28 characters; `socket` is the NUMA node of the consumer, on which
    /// the ring lies if there is memory.
    static Result<HandoverRing> create(const std::string& name, int socket, unsigned size = capacity) {
        constexpr unsigned flags = RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ;
        auto* ring = rte_ring_create(name.c_str(), size, socket, flags);
        if (ring == nullptr && socket != SOCKET_ID_ANY) {
            ring = rte_ring_create(name.c_str(), size, SOCKET_ID_ANY, flags);
        }
        if (ring == nullptr) return failure(rte_errno, "cannot create ring " + name + ": " + rte_strerror(rte_errno));
        return HandoverRing(ring);
    }

    /// Producer. Takes the first n packets and returns n; the rest stay the caller's.
    std::uint16_t push(Burst packets) noexcept {
        auto* const objects = reinterpret_cast<void* const*>(packets.data());
        const auto n = static_cast<unsigned>(packets.size());
        return static_cast<std::uint16_t>(rte_ring_sp_enqueue_burst(ring_.get(), objects, n, nullptr));
    }
    /// Producer. Packets for which there is room, at least.
    std::size_t room() const noexcept {
        unsigned room = 0;  // by a burst of none, as rte_ring_free_count is not ordered with what the consumer has done
        rte_ring_sp_enqueue_burst(ring_.get(), nullptr, 0, &room);
        return room;
    }

    /// Consumer. Fills `packets` from the front and returns the number taken.
    std::uint16_t pop(Burst packets) noexcept {
        auto** const objects = reinterpret_cast<void**>(packets.data());
        const auto n = static_cast<unsigned>(packets.size());
        return static_cast<std::uint16_t>(rte_ring_sc_dequeue_burst(ring_.get(), objects, n, nullptr));
    }
    /// Consumer. If false, `pop` takes something.
    bool empty() const noexcept {
        unsigned waiting = 0;
        rte_ring_sc_dequeue_burst(ring_.get(), nullptr, 0, &waiting);
        return waiting == 0;
    }

private:
    struct Free {
        void operator()(rte_ring* ring) const {
            void* packet = nullptr;
            while (rte_ring_sc_dequeue(ring, &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
            rte_ring_free(ring);
        }
    };

    explicit HandoverRing(rte_ring* ring) : ring_(ring) {}

    std::unique_ptr<rte_ring, Free> ring_;
};

}  // namespace verbline::pmd
