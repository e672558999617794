// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A direct memif link to one peer on the same hub.

#include <cstdint>
#include <memory>

#include "pmd/base/time.h"
#include "pmd/direct/broker.h"
#include "pmd/direct/direct_counters.h"
#include "pmd/memif/memif.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

class DirectLink {
public:
    enum class State : std::uint8_t {
        connecting,
        up,
        ending,  ///< the peer has disconnected: remaining frames are received, nothing is sent
    };

    DirectLink(std::uint64_t peer, DirectId id, std::unique_ptr<Memif> pair, Time now);

    // Control thread.
    std::uint64_t peer() const { return peer_; }
    DirectId id() const { return id_; }
    State state() const { return state_; }
    Time since() const { return since_; }  ///< when it entered its state
    void become(State state, Time now) { state_ = state, since_ = now; }
    Memif& pair() { return *pair_; }
    const Memif& pair() const { return *pair_; }

    /// Receiving thread. Drops frames whose source MAC is not the peer's.
    std::uint16_t receive(Burst burst, DirectRxCounters& counters) noexcept;
    bool wanted_before = false;  ///< its receive event has been armed; receiving thread

    /// Sending thread. Takes the first n frames and returns n. If the peer has not drained a full ring for
    /// `stall_timeout`, it counts as stalled and must not delay frames for others: its frames are dropped until there
    /// is room again. A peer that does not receive from the link yet has no room, and none of its frames are dropped:
    /// see `begun`.
    std::uint16_t send(Burst burst, DirectTxCounters& counters) noexcept;
    /// Sending thread. The peer has had room for frames; until then the lane reaches it as before.
    bool begun() const { return begun_; }
    static constexpr Time stall_timeout = 10 * millisecond;

private:
    const std::uint64_t peer_;  ///< its MAC address
    const DirectId id_;
    State state_ = State::connecting;
    Time since_;
    std::unique_ptr<Memif> pair_;
    const std::uint64_t stall_ticks_;
    bool begun_ = false;
    std::uint64_t full_since_ = 0;  ///< ticks; 0: the ring was not full
};

}  // namespace verbline::pmd
