// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Places that peers take by what they send, shared so that no port can take all: each may have as many as are still
/// free. One port alone gets half of all places, two get a third each; whoever comes next always finds some.
///
/// Ports are counted by a keyed hash of their address in a table of fixed size: two that collide share what one would
/// have, and nobody can look for collisions without knowing the seed.
///
/// Threads: any, no lock. Places are exact; of several who take at once each may be refused a little early.

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
    using Slot = std::uint16_t;  ///< who has taken a place, to give it back

    Shares(std::size_t places, std::uint64_t seed) : places_(places), hash_(seed) {}

    /// None: this port has its share.
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
