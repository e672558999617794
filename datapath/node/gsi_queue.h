// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames for QP1 on their way from the poll threads to the control thread, which is the node's general services
/// interface (IBTA volume 1, 3.9.3).
///
///     MemberPort, WirePort ── push ──> ring ── pop ──> control thread, woken by `descriptor`
///
/// Bounded: connection managers repeat what is dropped here, and a flood of one process takes no more than the ring.

#include <cstddef>
#include <memory>
#include <string>

#include "datapath/link/member.h"
#include "pmd/base/error.h"
#include "pmd/netdev.h"
#include "pmd/wakeups/wake_signal.h"

struct rte_ring;

namespace verbline::node {

class GsiQueue {
public:
    static constexpr unsigned capacity = 1024;

    /// `name` is unique in the process, and at most 28 characters.
    static Result<std::unique_ptr<GsiQueue>> create(const std::string& name);
    GsiQueue(const GsiQueue&) = delete;
    GsiQueue& operator=(const GsiQueue&) = delete;
    ~GsiQueue();

    /// Any poll thread. Takes ownership of the frame, unless it returns false: the ring is full.
    bool push(rte_mbuf* frame, link::MemberId origin) noexcept;

    // The control thread.

    /// Fills `frames` from the front and returns the number taken.
    std::size_t pop(pmd::Burst frames) noexcept;
    /// The member that sent the frame; node_itself: it came from the wire.
    static link::MemberId origin(const rte_mbuf& frame) noexcept;
    /// Readable when frames have come since `prepare_to_wait`.
    pmd::WakeSignal& signal() { return signal_; }

private:
    explicit GsiQueue(rte_ring* ring) : ring_(ring) {}

    rte_ring* ring_;
    pmd::WakeSignal signal_;
};

}  // namespace verbline::node
