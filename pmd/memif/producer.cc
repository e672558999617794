// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "pmd/memif/ring.h"

namespace verbline::pmd::memif {
namespace {

constexpr std::uint16_t max_slots = 64;  ///< that one frame may take

}  // namespace

std::optional<Producer::Place> Producer::slot(std::uint16_t index) {
    auto descriptor = ring_.descriptor(index);
    if (direction_ == Direction::client_to_server) descriptor.length = buffer_size_;
    const auto room = buffer(descriptor);
    if (!room) {
        break_off();
        return std::nullopt;
    }
    return Place{*room, descriptor.region};
}

/// The common case: one segment, one slot.
Producer::Placed Producer::place_one(const rte_mbuf& packet, const Place& place) {
    rte_memcpy(place.room.data(), rte_pktmbuf_mtod(&packet, const std::byte*), packet.data_len);
    ring_.set_descriptor(own_++, 0, place.region, packet.data_len);
    return Placed::yes;
}

Producer::Placed Producer::place(const rte_mbuf& packet, std::uint16_t free) {
    if (free == 0) return Placed::no_room;
    const auto first = slot(own_);
    if (!first) return Placed::no_room;
    if (packet.nb_segs == 1 && packet.data_len <= first->room.size()) return place_one(packet, *first);
    return place_chain(packet, free);
}

Producer::Placed Producer::place_chain(const rte_mbuf& packet, std::uint16_t free) {
    std::array<Place, max_slots> places;
    std::uint16_t count = 0;
    for (std::size_t room = 0; room < packet.pkt_len; ++count) {
        if (count == max_slots || count == ring_.size()) return Placed::never;
        if (count == free) return Placed::no_room;
        const auto next = slot(static_cast<std::uint16_t>(own_ + count));
        if (!next) return Placed::no_room;
        places[count] = *next;
        room += next->room.size();
    }
    const auto* segment = &packet;
    std::uint32_t from = 0, left = packet.pkt_len;
    for (std::uint16_t i = 0; i < count; ++i) {
        std::uint32_t filled = 0;
        while (filled < places[i].room.size() && left > 0) {
            for (; from == segment->data_len; from = 0) segment = segment->next;
            const auto part = std::min<std::uint32_t>(static_cast<std::uint32_t>(places[i].room.size()) - filled,
                                                      segment->data_len - from);
            rte_memcpy(places[i].room.data() + filled, rte_pktmbuf_mtod_offset(segment, const std::byte*, from), part);
            filled += part, from += part, left -= part;
        }
        const std::uint16_t flags = i + 1 < count ? Descriptor::more : 0;
        ring_.set_descriptor(static_cast<std::uint16_t>(own_ + i), flags, places[i].region, filled);
    }
    own_ = static_cast<std::uint16_t>(own_ + count);
    return Placed::yes;
}

std::uint16_t Producer::send(Burst burst, Counters counters) {
    if (broken()) return 0;
    auto& header = ring_.header();
    const bool client = direction_ == Direction::client_to_server;
    const auto free_slots = [&, limit = client
                                            ? static_cast<std::uint16_t>(load(header.tail) + ring_.size())
                                            : load(header.head)] { return static_cast<std::uint16_t>(limit - own_); };
    if (free_slots() > ring_.size()) {
        break_off();
        return 0;
    }
    std::size_t n = 0, oversize = 0;
    std::uint64_t bytes = 0;
    for (; n < burst.size(); ++n) {
        const auto placed = place(*burst[n], free_slots());
        if (placed == Placed::no_room) break;
        if (placed == Placed::yes) bytes += burst[n]->pkt_len;
        if (placed == Placed::never) ++oversize;
    }
    if (n == 0) return 0;
    counters.packets.add(n - oversize);
    counters.bytes.add(bytes);
    counters.oversize.add(oversize);
    store(client ? header.head : header.tail, own_);
    rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(n));
    // The index must be visible before the flag is read, or a wakeup may be lost: pairs with Consumer::want_signals.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (signal_ >= 0 && (load(header.flags) & RingHeader::polled) == 0) signal_eventfd(signal_, notifier_);
    return static_cast<std::uint16_t>(n);
}

}  // namespace verbline::pmd::memif
