// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames for QP1 on their way from the poll threads to the control thread, which is the node's general services
/// interface (IBTA volume 1, 3.9.3).
///
///     MemberPort, WirePort ── push ──> ring ── pop ──> control thread, woken by `descriptor`
///
/// Bounded, for all and for each member, so that a flood of one leaves room for the others: connection managers repeat
/// what is dropped here.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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
    static constexpr unsigned most_of_member = 128, most_of_wire = 512;

    /// `name` is unique in the process, and at most 28 characters.
    static Result<std::unique_ptr<GsiQueue>> create(const std::string& name);
    GsiQueue(const GsiQueue&) = delete;
    GsiQueue& operator=(const GsiQueue&) = delete;
    ~GsiQueue();

    /// Any poll thread. Takes ownership of the frame, unless it returns false: too many wait.
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
    std::array<std::atomic<std::uint32_t>, link::last_member + 1> waiting_{};  ///< by origin
    pmd::WakeSignal signal_;
};

}  // namespace verbline::node
