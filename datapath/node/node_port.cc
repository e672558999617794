// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/node_port.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "pmd/bridge/frame.h"

namespace verbline::node {

Result<NodePort::Rings> NodePort::make_rings(const NodeParts& parts, link::MemberId member, unsigned queue) {
    // Names of rings are the process's; so are addresses.
    const auto name = fmt::format("{}m{}q{}", fmt::ptr(&parts.gsi), std::to_underlying(member), queue);
    auto injected = pmd::HandoverRing::create(name, pmd::any_numa_socket, most_injected);
    if (!injected) return std::unexpected(injected.error());
    auto relayed = pmd::HandoverRing::create(name + "x", pmd::any_numa_socket, most_relayed);
    if (!relayed) return std::unexpected(relayed.error());
    return Rings{std::move(*injected), std::move(*relayed)};
}

NodePort::~NodePort() {
    rte_pktmbuf_free_bulk(unsent_.data(), static_cast<unsigned>(unsent_.size()));
}

void NodePort::inject(rte_mbuf* frame) noexcept {
    if (injected_.push({&frame, 1}) == 1) return;
    counters_.gsi_tx_dropped.add();
    rte_pktmbuf_free(frame);
}

std::uint16_t NodePort::rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept {
    if (!injected_.empty()) send_injected(queue);
    if (!unsent_.empty() || !relayed_.empty()) send_relayed(queue);
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
        switch (verdict) {
            case Verdict::pass_and_gsi: hand_over_copy(*frame); [[fallthrough]];
            case Verdict::pass: burst[kept++] = frame; break;
            case Verdict::gsi: hand_over(frame); break;
            case Verdict::taken: break;
            case Verdict::drop: rte_pktmbuf_free(frame); break;
        }
    }
    return kept;
}

void NodePort::hand_over(rte_mbuf* frame) noexcept {
    if (parts_.gsi.push(frame, member_)) return counters_.gsi_rx_packets.add();
    counters_.gsi_rx_dropped_full.add();
    rte_pktmbuf_free(frame);
}

/// Without a buffer for it: as if too many were waiting.
void NodePort::hand_over_copy(const rte_mbuf& frame) noexcept {
    auto* const copy = rte_pktmbuf_copy(&frame, frame.pool, 0, frame.data_len);
    if (copy == nullptr) return counters_.gsi_rx_dropped_full.add();
    hand_over(copy);
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

/// What the device has no room for waits, and what waits behind it in the ring.
void NodePort::send_relayed(std::uint16_t queue) noexcept {
    do {
        if (unsent_.empty()) unsent_ = pmd::Burst(relaying_).first(relayed_.pop(relaying_));
        const auto sent = tx_burst(queue, unsent_);
        counters_.xrc_tx_packets.add(sent);
        unsent_ = unsent_.subspan(sent);
    } while (unsent_.empty() && !relayed_.empty());
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
