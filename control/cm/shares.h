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

#include "control/cm/remote_array.h"
#include "control/mad/gmp.h"
#include "datapath/wire/types.h"

namespace verbline::cm {

/// Address of a peer's port: its GID, and its LID on InfiniBand.
struct PortAddress {
    wire::Gid gid{};
    wire::Lid lid{};  ///< 0 or permissive: none; so on RoCE

    static PortAddress of(const mad::GmpPeer& peer) {
        return {.gid = peer.path.address.dgid, .lid = peer.path.address.dlid};
    }
    /// Whether a MAD came from this port. Within a subnet a MAD may or may not have a GRH, independent of ours, and its
    /// GRH may carry any of the port's GIDs; the LID decides then.
    bool sent(const mad::GmpPeer& from) const {
        const auto& address = from.path.address;
        const bool has_lid = lid != wire::Lid{} && lid != wire::permissive_lid;
        return (has_lid && address.dlid == lid) || (address.global && gid != wire::Gid{} && address.dgid == gid);
    }
};

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
