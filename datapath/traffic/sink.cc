// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/sink.h"

#include <algorithm>
#include <array>
#include <span>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_prefetch.h>

#include "datapath/traffic/size_mix.h"

namespace verbline::traffic {
namespace {

/// Cycles: a few microseconds, more than a reading of a clock across PCI Express is off.
constexpr std::int64_t calibration_error = 1 << 14;

}  // namespace

Sink::Sink(pmd::NetDevice& device, std::uint16_t queue, const SinkSettings& settings)
    : device_(device), queue_(queue), settings_(settings), checks_(Stamp::max_streams) {}

bool Sink::poll() noexcept {
    std::array<rte_mbuf*, pmd::max_burst> frames;
    const std::size_t count = device_.rx_burst(queue_, frames);
    if (count == 0) return false;
    const auto now = rte_rdtsc();
    if (settings_.arrivals) settings_.arrivals->clock->get(conversion_);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (i + 1 < count) rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void*));
        const auto& frame = *frames[i];
        bytes += frame.pkt_len + fcs;
        const auto stamp = find_stamp({rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len});
        if (stamp) {
            take(*stamp, frame, now);
        } else {
            counters_.rx_without_stamp.add();
        }
    }
    counters_.rx_packets.add(count);
    counters_.rx_bytes.add(bytes);
    rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
    return true;
}

void Sink::take(const Stamp& stamp, const rte_mbuf& frame, std::uint64_t now) noexcept {
    if (!settings_.run) settings_.run = stamp.run;
    if (*settings_.run != stamp.run) return counters_.rx_other_run.add();
    counters_.rx_stamped.add();
    checks_[stamp.stream].receive(stamp.sequence);
    if (!settings_.latency) return;
    if (settings_.arrivals) return measure(stamp, frame, now);
    latency_.record(now > stamp.time ? now - stamp.time : 0);
}

/// By the device's clock, if it has dated the frame, and if that can be.
void Sink::measure(const Stamp& stamp, const rte_mbuf& frame, std::uint64_t now) noexcept {
    const auto& arrivals = *settings_.arrivals;
    if (!conversion_ || (frame.ol_flags & arrivals.flag) == 0) return counters_.rx_undated.add();
    const auto ticks = *RTE_MBUF_DYNFIELD(&frame, arrivals.field_offset, const rte_mbuf_timestamp_t*);
    const auto arrival = conversion_->to_cycles(ticks);
    const auto since = [](std::uint64_t later, std::uint64_t earlier) {
        return static_cast<std::int64_t>(later - earlier);
    };
    if (since(arrival, stamp.time) < -calibration_error || since(now, arrival) < -calibration_error)
        return counters_.rx_misdated.add();
    latency_.record(static_cast<std::uint64_t>(std::max<std::int64_t>(since(arrival, stamp.time), 0)));
}

}  // namespace verbline::traffic
