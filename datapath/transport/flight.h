// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Packets that the requesters of a shard have under way together.
///
/// They leave by one port, and rings, switches and the peer's buffers on the way have room for so many, not for so many
/// of each queue pair: with sixteen full windows under way most of what is sent is lost and sent again. So the bound of
/// one window is the bound of all together; each may always have a few.

#include <cstdint>
#include <utility>

#include "pmd/base/tunables.h"

namespace verbline::transport {

class Flight {
public:
    static constexpr std::uint32_t limit = tunables::packets_under_way;  ///< of all; the largest window of one
    static constexpr std::uint32_t floor = 16;                           ///< of each, whatever others have

    /// A requester that has `own` under way may send `packets` more.
    bool has_room(std::uint32_t own, std::uint32_t packets) const {
        return total_ + packets <= limit || own + packets <= floor;
    }
    /// How many that wait for room find some.
    std::uint32_t admitted() const { return total_ < limit ? (limit - total_ + floor - 1) / floor : 0; }

    /// A requester has more to send, and no room.
    void refuse() { refused_ = true; }
    /// True once if one was refused since it was last asked.
    bool refused() { return std::exchange(refused_, false); }

    /// What a requester has under way was `before`, and is `now`.
    void change(std::uint32_t before, std::uint32_t now) { total_ += now - before; }
    std::uint32_t total() const { return total_; }

private:
    std::uint32_t total_ = 0;
    bool refused_ = false;
};

}  // namespace verbline::transport
