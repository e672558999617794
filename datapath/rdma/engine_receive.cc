// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/rdma/engine.h"

// From frames to queue pairs. The rest of a poll is in engine.cc.

namespace verbline::rdma {
namespace {

wire::Bytes bytes_of(const rte_mbuf& frame) {
    return {rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len};
}

/// How many frames are opened at a time: as many bytes as stay in the L1 cache until the payload is copied.
std::size_t together(pmd::Burst frames, std::size_t limit) {
    constexpr std::size_t most_bytes = 8192;
    std::size_t count = 0, bytes = 0;
    while (count < std::min(frames.size(), limit) && bytes < most_bytes) bytes += frames[count++]->data_len;
    return count;
}

}  // namespace

bool Engine::receive_all() noexcept {
    std::array<rte_mbuf*, pmd::max_burst> frames;
    bool busy = false;
    if (!tx_stage_.loopback().empty()) {
        looped_.swap(tx_stage_.loopback());
        for (std::size_t at = 0; at < looped_.size(); at += pmd::max_burst) {
            const auto rest = pmd::Burst(looped_).subspan(at);
            receive_burst(rest.first(std::min(rest.size(), pmd::max_burst)), false);
        }
        looped_.clear();
        busy = true;
    }
    for (auto* const inbox : inboxes_) {
        const auto n = inbox->pop(frames);
        receive_burst(pmd::Burst(frames).first(n), true);
        busy |= n != 0;
    }
    const auto n = setup_.device->rx_burst(setup_.queue, frames);
    if (n != 0) bursts_.rx_bursts.add(), bursts_.rx_burst_packets.add(n);
    receive_burst(pmd::Burst(frames).first(n), false);
    for (const auto& outbox : outboxes_) {
        if (outbox != nullptr && outbox->count != 0) flush(*outbox);
    }
    if (reorder_.packets() != 0 && n < frames.size()) [[unlikely]]
        reserve_for_receive();
    return busy || n != 0;
}

/// Packets kept for reordering must not starve reception, wherever the other buffers are: unless the pool has a
/// burst's worth, some are evicted. A device does not report an empty pool; a burst that is not full is the only sign.
void Engine::reserve_for_receive() noexcept {
    std::array<rte_mbuf*, pmd::max_burst> reserve;
    if (rte_pktmbuf_alloc_bulk(setup_.pool, reserve.data(), reserve.size()) == 0) {
        rte_pktmbuf_free_bulk(reserve.data(), reserve.size());
    } else {
        reorder_.evict(pmd::max_burst, counters_);
    }
}

void Engine::receive_burst(pmd::Burst frames, bool handed_over) noexcept {
    std::array<rte_mbuf*, pmd::max_burst> done;
    unsigned done_count = 0;
    for (auto rest = frames; !rest.empty();) {
        const auto chunk = rest.first(together(rest, opened_at_once));
        rest = rest.subspan(chunk.size());
        for (const auto& each : std::span(opened_).first(open(chunk, handed_over, opened_, done, done_count))) {
            if (!receive(each, handed_over)) done[done_count++] = each.packet.mbuf;
        }
    }
    rte_pktmbuf_free_bulk(done.data(), done_count);
}

std::size_t Engine::open(pmd::Burst frames, bool handed_over, std::span<Arrived> out, std::span<rte_mbuf*> done,
                         unsigned& done_count) noexcept {
    // In steps, each for all frames: checksum computations overlap, and prefetched queue pairs arrive meanwhile.
    std::size_t count = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i + 2 < frames.size()) rte_prefetch0(rte_pktmbuf_mtod(frames[i + 2], void*));
        auto* const frame = frames[i]->nb_segs == 1 ? frames[i] : contiguous(frames[i]);
        if (frame == nullptr) continue;
        auto& next = out[count];
        const auto discard = link::open_headers(bytes_of(*frame), next.packet.arrival);
        // The packet is not verified yet; its QPN is good enough for a prefetch, and to find the shard that verifies.
        wire::Qpn destination{};
        if (!discard) {
            next.packet.mbuf = frame;
            destination = transport::destination_of(next.packet);
            if (auto* const outbox = handed_over ? nullptr : outbox_of(destination)) {
                put(*outbox, frame);
                continue;
            }
        }
        if (!handed_over || destination != wire::multicast_qpn) {  // which was counted where it came in
            counters_.rx_packets.add();
            counters_.rx_bytes.add(frame->data_len);
        }
        if (discard) {
            discards_[*discard].add();
            done[done_count++] = frame;
        } else {
            next.pair = &slots_[slot_of(destination)];
            rte_prefetch0(static_cast<const void*>(next.pair));
            ++count;
        }
    }
    std::array<std::optional<link::Discard>, opened_at_once> wrong;
    const transport::TransportQueuePair* last = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        const auto* const pair = *out[i].pair;
        if (pair != nullptr && pair != last) (last = pair)->prefetch();
        wrong[i] = link::verify(bytes_of(*out[i].packet.mbuf), out[i].packet.arrival);
    }
    std::size_t good = 0;
    for (std::size_t i = 0; i < count; ++i) {
        auto& packet = out[i].packet;
        if (const auto& discard = wrong[i]) {
            discards_[*discard].add();
            done[done_count++] = packet.mbuf;
        } else if (!tx_stage_.accepts(packet.frame())) {
            counters_.rx_dropped_address.add();
            done[done_count++] = packet.mbuf;
        } else if (const auto fault = transport::parse(packet)) {
            count_fault(*fault);
            done[done_count++] = packet.mbuf;
        } else {
            if (good != i) out[good] = out[i];
            ++good;
        }
    }
    return good;
}

void Engine::count_fault(transport::PacketFault fault) noexcept {
    switch (fault) {
        case transport::PacketFault::opcode: return counters_.rx_dropped_opcode.add();
        case transport::PacketFault::length: return discards_[link::Discard::rx_dropped_length].add();
    }
}

rte_mbuf* Engine::contiguous(rte_mbuf* frame) noexcept {
    auto* const copy = rte_pktmbuf_copy(frame, setup_.pool, 0, UINT32_MAX);
    rte_pktmbuf_free(frame);
    if (copy != nullptr && copy->nb_segs == 1) return copy;
    discards_[link::Discard::rx_dropped_length].add();
    rte_pktmbuf_free(copy);
    return nullptr;
}

bool Engine::receive(const Arrived& arrived, bool handed_over) noexcept {
    const auto& packet = arrived.packet;
    if (packet.destination == wire::multicast_qpn) return multicast(packet, handed_over);
    auto* const pair = *arrived.pair;
    if (pair == nullptr || pair->qpn() != packet.destination) return counters_.rx_dropped_qpn.add(), false;
    bool kept = false;
    if (packet.operation() == transport::Operation::congestion_notification) {
        pair->congestion_notified(packet, context_);
    } else {
        kept = pair->receive(packet, context_);
    }
    activate(*pair);
    return kept;
}

/// Where a packet for this QPN goes if it belongs to another shard; else null.
Engine::Outbox* Engine::outbox_of(wire::Qpn destination) noexcept {
    if (outboxes_.empty() || destination == wire::multicast_qpn) return nullptr;
    const auto shard = static_cast<std::uint32_t>(destination) & ((1u << shard_bits_) - 1);
    return shard < outboxes_.size() ? outboxes_[shard].get() : nullptr;
}

void Engine::put(Outbox& outbox, rte_mbuf* frame) noexcept {
    if (outbox.count == outbox.packets.size()) flush(outbox);
    outbox.packets[outbox.count++] = frame;
}

void Engine::flush(Outbox& outbox) noexcept {
    const auto packets = std::span(outbox.packets).first(std::exchange(outbox.count, std::uint16_t{0}));
    const auto taken = outbox.ring.push(packets);
    const auto rest = packets.subspan(taken);
    counters_.rx_handed_over.add(taken);
    counters_.rx_dropped_handover.add(rest.size());
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
}

bool Engine::multicast(const transport::Packet& packet, bool handed_over) noexcept {
    const auto group = link::destination_gid(packet.frame(), packet.arrival);
    const auto members = groups_.find(group);
    if (members != groups_.end()) {
        auto to_members = packet;
        to_members.own_multicast = tx_stage_.is_ours(link::source_mac(packet.frame()));
        for (auto* const pair : members->second) {
            pair->receive(to_members, context_);
            activate(*pair);
        }
    } else if (outboxes_.empty()) {
        counters_.rx_dropped_multicast.add();
    }
    if (handed_over) return false;
    for (const auto& outbox : outboxes_) {
        if (outbox == nullptr) continue;
        auto* const copy = rte_pktmbuf_copy(packet.mbuf, setup_.pool, 0, UINT32_MAX);
        if (copy != nullptr) {
            put(*outbox, copy);
        } else {
            counters_.rx_dropped_handover.add();
        }
    }
    return false;
}

}  // namespace verbline::rdma
