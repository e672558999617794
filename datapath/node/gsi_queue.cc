// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/gsi_queue.h"

#include <cerrno>
#include <utility>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

namespace verbline::node {

Result<std::unique_ptr<GsiQueue>> GsiQueue::create(const std::string& name) {
    auto* const ring = rte_ring_create(name.c_str(), capacity, SOCKET_ID_ANY, RING_F_SC_DEQ);
    if (ring == nullptr) return failure(rte_errno, "cannot create ring " + name + ": " + rte_strerror(rte_errno));
    std::unique_ptr<GsiQueue> made(new GsiQueue(ring));
    if (!made->signal_) return failure(errno, "no descriptor is left for the node's QP1; raise the limit (ulimit -n)");
    return made;
}

GsiQueue::~GsiQueue() {
    void* frame = nullptr;
    while (rte_ring_sc_dequeue(ring_, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    rte_ring_free(ring_);
}

bool GsiQueue::push(rte_mbuf* frame, link::MemberId origin) noexcept {
    auto& waiting = waiting_[std::to_underlying(origin)];
    const auto most = origin == link::node_itself ? most_of_wire : most_of_member;
    if (waiting.load(std::memory_order_relaxed) >= most) return false;
    frame->hash.usr = std::to_underlying(origin);
    waiting.fetch_add(1, std::memory_order_relaxed);
    if (rte_ring_mp_enqueue(ring_, frame) != 0) {
        waiting.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    signal_.wake_up();
    return true;
}

std::size_t GsiQueue::pop(pmd::Burst frames) noexcept {
    auto** const objects = reinterpret_cast<void**>(frames.data());
    const auto n = rte_ring_sc_dequeue_burst(ring_, objects, static_cast<unsigned>(frames.size()), nullptr);
    for (const auto* const frame : frames.first(n)) {
        waiting_[std::to_underlying(origin(*frame))].fetch_sub(1, std::memory_order_relaxed);
    }
    return n;
}

link::MemberId GsiQueue::origin(const rte_mbuf& frame) noexcept {
    return link::MemberId{static_cast<std::uint16_t>(frame.hash.usr)};
}

}  // namespace verbline::node
