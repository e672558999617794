// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two Ethernet ports of this process, joined back to back by rings: DPDK's net_ring driver under pmd/ethdev, as any
/// other port would be. A packet is handed over as it is, without a copy.

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "pmd/ethdev/ethdev.h"

namespace verbline::bench {

class RingCable {
public:
    /// One cable at a time. `pool` is what the driver asks for, and never uses.
    RingCable(rte_mempool* pool, std::uint16_t mtu) {
        for (auto& ring : rings_) ring = new_ring(&ring == &rings_[0] ? "cable.0" : "cable.1");
        for (std::size_t end = 0; end < ends_.size(); ++end) {
            const auto name = "end" + std::to_string(end);
            if (rte_eth_from_rings(name.c_str(), &rings_[end], 1, &rings_[1 - end], 1, 0) < 0) {
                throw std::runtime_error("no port of rings");
            }
            auto made = pmd::EthDevice::create("net_ring_" + name, pool, {.descriptors = depth, .mtu = mtu});
            if (!made) throw std::runtime_error(made.error().what);
            ends_[end] = std::move(*made);
            if (auto up = ends_[end]->up(); !up) throw std::runtime_error(up.error().what);
        }
    }
    RingCable(const RingCable&) = delete;
    RingCable& operator=(const RingCable&) = delete;
    ~RingCable() {
        for (auto& end : ends_) {
            const std::string name(end->name());
            end.reset();
            rte_vdev_uninit(name.c_str());
        }
        for (auto* ring : rings_) {
            void* packet = nullptr;
            while (rte_ring_dequeue(ring, &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
            rte_ring_free(ring);
        }
    }

    pmd::NetDevice& end(std::size_t index) { return *ends_[index]; }

private:
    static constexpr unsigned depth = 1024;

    static rte_ring* new_ring(const char* name) {
        auto* const ring = rte_ring_create(name, depth, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        if (ring == nullptr) throw std::runtime_error("no memory for a ring");
        return ring;
    }

    std::array<rte_ring*, 2> rings_{};
    std::array<std::unique_ptr<pmd::EthDevice>, 2> ends_;
};

}  // namespace verbline::bench
