// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/sink.h"

#include <array>
#include <span>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/traffic/size_mix.h"

namespace verbline::traffic {

Sink::Sink(pmd::NetDevice& device, std::uint16_t queue, const SinkSettings& settings)
    : device_(device), queue_(queue), settings_(settings), checks_(Stamp::max_streams) {}

bool Sink::poll() noexcept {
    std::array<rte_mbuf*, pmd::max_burst> frames;
    const std::size_t count = device_.rx_burst(queue_, frames);
    if (count == 0) return false;
    const auto now = rte_rdtsc();
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (i + 1 < count) rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void*));
        const auto& frame = *frames[i];
        bytes += frame.pkt_len + fcs;
        const auto stamp = find_stamp({rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len});
        if (stamp) {
            take(*stamp, now);
        } else {
            counters_.rx_without_stamp.add();
        }
    }
    counters_.rx_packets.add(count);
    counters_.rx_bytes.add(bytes);
    rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
    return true;
}

void Sink::take(const Stamp& stamp, std::uint64_t now) noexcept {
    if (!settings_.run) settings_.run = stamp.run;
    if (*settings_.run != stamp.run) return counters_.rx_other_run.add();
    counters_.rx_stamped.add();
    checks_[stamp.stream].receive(stamp.sequence);
    if (settings_.latency) latency_.record(now > stamp.time ? now - stamp.time : 0);
}

}  // namespace verbline::traffic
