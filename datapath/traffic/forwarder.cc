// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/forwarder.h"

#include <array>
#include <cstring>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/traffic/size_mix.h"
#include "datapath/wire/ethernet.h"

namespace verbline::traffic {

bool Forwarder::poll() noexcept {
    std::array<rte_mbuf*, pmd::max_burst> room;
    const auto received = from_.rx_burst(queue_, pmd::Burst(room).first(burst_));
    if (received == 0) {
        to_.tx_burst(queue_, {});  // a device may hold some back that are due
        return false;
    }
    auto frames = pmd::Burst(room).first(received);
    std::uint64_t bytes = 0;
    for (const auto* frame : frames) bytes += frame->pkt_len + fcs;
    counters_.rx_packets.add(received);
    counters_.rx_bytes.add(bytes);
    if (rewrite_ == Rewrite::swap_macs) frames = frames.first(swap_macs(frames));

    const auto sent = to_.tx_burst(queue_, frames);
    counters_.tx_packets.add(sent);
    if (sent < frames.size()) {
        const auto rest = frames.subspan(sent);
        rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
        counters_.tx_dropped_full.add(rest.size());
    }
    return true;
}

/// Moves those that can go on to the front, and returns how many.
std::size_t Forwarder::swap_macs(pmd::Burst frames) noexcept {
    constexpr std::size_t mac = sizeof(wire::MacAddress);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i + 1 < frames.size()) rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void*));
        auto* const frame = frames[i];
        if (frame->data_len < wire::Ethernet::size) {
            rte_pktmbuf_free(frame);
            counters_.rx_dropped_short.add();
            continue;
        }
        auto* const bytes = rte_pktmbuf_mtod(frame, std::byte*);
        std::array<std::byte, mac> destination, source;
        std::memcpy(destination.data(), bytes, mac);
        std::memcpy(source.data(), bytes + mac, mac);
        std::memcpy(bytes, source.data(), mac);
        std::memcpy(bytes + mac, destination.data(), mac);
        frames[kept++] = frame;
    }
    return kept;
}

}  // namespace verbline::traffic
