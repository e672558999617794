// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Limits the packets that all requesters of a shard have in flight together.
///
/// They leave by one port, and the rings, switches and peer buffers on the path hold a fixed number of packets, not
/// that number per queue pair: with sixteen full windows in flight most packets are lost and retransmitted. So all
/// requesters together may have one window in flight; each may always have `floor` packets.

#include <cstdint>
#include <utility>

#include "pmd/base/tunables.h"

namespace verbline::transport {

class Flight {
public:
    static constexpr std::uint32_t limit = tunables::packets_under_way;  ///< of all requesters; largest window of one
    static constexpr std::uint32_t floor = 16;                           ///< guaranteed to each requester

    /// True if a requester with `own` packets in flight may send `packets` more.
    bool has_room(std::uint32_t own, std::uint32_t packets) const {
        return total_ + packets <= limit || own + packets <= floor;
    }
    /// How many waiting requesters there is room for.
    std::uint32_t admitted() const { return total_ < limit ? (limit - total_ + floor - 1) / floor : 0; }

    /// A requester has packets to send but no room.
    void refuse() { refused_ = true; }
    /// True if a requester was refused since the last call of `refused`.
    bool refused() { return std::exchange(refused_, false); }

    /// A requester's packets in flight changed from `before` to `now`.
    void change(std::uint32_t before, std::uint32_t now) { total_ += now - before; }

private:
    std::uint32_t total_ = 0;
    bool refused_ = false;
};

}  // namespace verbline::transport
