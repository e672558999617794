// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/node_port.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "pmd/bridge/frame.h"

namespace verbline::node {

Result<pmd::HandoverRing> NodePort::make_ring(const GsiQueue& gsi, link::MemberId member) {
    // Names of rings are the process's; so are addresses.
    return pmd::HandoverRing::create(fmt::format("{}m{}", fmt::ptr(&gsi), std::to_underlying(member)),
                                     pmd::any_numa_socket, most_injected);
}

void NodePort::inject(rte_mbuf* frame) noexcept {
    if (injected_.push({&frame, 1}) == 1) return;
    counters_.gsi_tx_dropped.add();
    rte_pktmbuf_free(frame);
}

std::uint16_t NodePort::rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept {
    if (!injected_.empty()) send_injected(queue);
    for (;;) {
        const auto received = inner().rx_burst(queue, burst);
        const auto kept = keep(burst.first(received));
        // With none of a whole burst left there may be more, of which no event would tell.
        if (kept > 0 || received < burst.size()) return static_cast<std::uint16_t>(kept);
    }
}

/// Moves the frames that the switch is to see to the front, and returns their number.
std::size_t NodePort::keep(pmd::Burst burst) noexcept {
    std::size_t kept = 0;
    for (auto* const frame : burst) {
        const auto verdict = pmd::is_runt(*frame) ? Verdict::pass : classify(*frame);  // the switch counts runts
        if (verdict == Verdict::pass) {
            burst[kept++] = frame;
        } else if (verdict == Verdict::drop) {
            rte_pktmbuf_free(frame);
        } else if (gsi_.push(frame, member_)) {
            counters_.gsi_rx_packets.add();
        } else {
            counters_.gsi_rx_dropped_full.add();
            rte_pktmbuf_free(frame);
        }
    }
    return kept;
}

void NodePort::send_injected(std::uint16_t queue) noexcept {
    std::array<rte_mbuf*, pmd::max_burst> frames;
    const auto waiting = pmd::Burst(frames).first(injected_.pop(frames));
    const auto sent = tx_burst(queue, waiting);
    counters_.gsi_tx_packets.add(sent);
    counters_.gsi_tx_dropped_full.add(waiting.size() - sent);
    const auto rest = waiting.subspan(sent);
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
}

void NodePort::counters(const CounterVisitor& visit) const {
    Decorator::counters(visit);
    counters_.each(visit);
}

void set_destination(rte_mbuf& frame, const wire::MacAddress& mac) noexcept {
    std::ranges::copy(mac.bytes, rte_pktmbuf_mtod(&frame, std::byte*));
}
void set_source(rte_mbuf& frame, const wire::MacAddress& mac) noexcept {
    constexpr std::size_t source_at = 6;
    std::ranges::copy(mac.bytes, rte_pktmbuf_mtod_offset(&frame, std::byte*, source_at));
}

}  // namespace verbline::node
