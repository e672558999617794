// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Slots that peers occupy by what they send, shared fairly: each port may take as many as are still free. One port
/// alone gets half of all slots, two get a third each; a new port always finds some.
///
/// Ports are counted by a keyed hash of their address in a table of fixed size: two ports that collide share one
/// allowance, and without the seed an attacker cannot search for collisions.
///
/// Thread-safe, lock-free. The total is exact; of concurrent calls one may fail slightly early.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "control/cm/port_address.h"
#include "control/cm/remote_array.h"

namespace verbline::cm {

class Shares {
public:
    using Slot = std::uint16_t;  ///< names the port's counter, for give_back

    Shares(std::size_t places, std::uint64_t seed) : places_(places), hash_(seed) {}

    /// None: this port has used up its share.
    std::optional<Slot> take(const PortAddress& port);
    void give_back(Slot slot);
    std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t slot_count = 1024;

    const std::size_t places_;
    RemoteHash hash_;
    std::atomic<std::size_t> taken_ = 0;
    std::array<std::atomic<std::uint32_t>, slot_count> by_port_{};
};

}  // namespace verbline::cm
