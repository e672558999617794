// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <rte_mbuf.h>
#include <sys/uio.h>

#include "pmd/allocate.h"
#include "pmd/append.h"
#include "pmd/memif/ring.h"

namespace verbline::pmd::memif {
namespace {

constexpr std::uint32_t max_frame = 1 << 18;  ///< bytes; no peer can make us gather more

}  // namespace

Consumer::Consumer(RingMemory ring, const Regions& regions, Direction direction, std::uint32_t buffer_size,
                   rte_mempool* pool, int signal)
    : RingEnd(ring, regions), direction_(direction), buffer_size_(buffer_size), pool_(pool), signal_(signal) {}

void Consumer::open() {
    store(ring_.header().flags, RingHeader::polled);
    publish();
}

void Consumer::want_signals(bool wanted) {
    if (signalled_) {
        std::uint64_t count = 0;
        const iovec vector{&count, sizeof(count)};
        // The peer may hold the descriptor and make it blocking at any time: RWF_NOWAIT is independent of that.
        [[maybe_unused]] const auto ignored = preadv2(signal_, &vector, 1, -1, RWF_NOWAIT);
    }
    if (wanted != signalled_) store(ring_.header().flags, wanted ? 0 : RingHeader::polled);
    signalled_ = wanted;
    // Pairs with the fence in Producer::send: either the producer sees the flag, or we see what it has published.
    if (wanted) std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Consumer::publish() {
    auto& header = ring_.header();
    if (direction_ == Direction::client_to_server) {
        store(header.tail, own_);
    } else {
        store(header.head, static_cast<std::uint16_t>(own_ + ring_.size()));
    }
}

bool Consumer::unread() const {
    auto& header = ring_.header();
    const auto head = load(header.head), tail = load(header.tail);
    return direction_ == Direction::client_to_server ? head != tail
                                                     : tail != static_cast<std::uint16_t>(head - ring_.size());
}

std::uint16_t Consumer::receive(Burst burst, Counters counters) {
    if (broken()) return 0;
    auto& header = ring_.header();
    const auto filled = load(direction_ == Direction::client_to_server ? header.head : header.tail);
    auto available = static_cast<std::uint16_t>(filled - own_);
    if (available == 0) return 0;
    if (available > ring_.size()) {
        break_off();
        return 0;
    }
    const auto wanted = burst.first(std::min<std::size_t>(available, burst.size()));
    const auto allocated = allocate(*pool_, wanted);
    if (allocated < wanted.size()) counters.no_mbuf.add();
    if (allocated == 0) return 0;
    std::size_t n = 0, used = 0;
    for (; used < allocated && available > 0 && !broken(); ++used) {
        if (auto* packet = take(burst[used], available, counters)) burst[n++] = packet;
    }
    for (; used < allocated; ++used) rte_pktmbuf_free(burst[used]);  // frames of several slots left some over
    publish();
    std::uint64_t bytes = 0;
    for (const auto* packet : burst.first(n)) bytes += packet->pkt_len;
    counters.packets.add(n);
    counters.bytes.add(bytes);
    return static_cast<std::uint16_t>(n);
}

/// Copies the next frame into `packet`. Null: the frame is malformed or no buffer is free; `packet` has been freed.
rte_mbuf* Consumer::take(rte_mbuf* packet, std::uint16_t& available, Counters& counters) {
    rte_mbuf* tail = packet;
    bool whole = true;
    for (bool more = true; more;) {
        const auto index = own_;
        const auto descriptor = ring_.descriptor(index);
        const auto bytes = buffer(descriptor);
        more = (descriptor.flags & Descriptor::more) != 0;
        if (!bytes || packet->pkt_len + bytes->size() > max_frame || (more && available == 1)) {
            break_off();
            rte_pktmbuf_free(packet);
            return nullptr;
        }
        whole = whole && append(*packet, tail, *bytes, pool_);
        if (direction_ == Direction::server_to_client) {
            ring_.set_descriptor(index, 0, descriptor.region, buffer_size_);
        } else if (descriptor.flags != 0) {  // there are producers that only ever set the flag
            ring_.set_descriptor(index, 0, descriptor.region, descriptor.length);
        }
        ++own_;
        --available;
    }
    if (whole && packet->pkt_len > 0) return packet;
    (whole ? counters.malformed : counters.no_mbuf).add();
    rte_pktmbuf_free(packet);
    return nullptr;
}

}  // namespace verbline::pmd::memif
