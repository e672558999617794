// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address of a peer's port: its GID, and its LID on InfiniBand.

#include "control/mad/gmp.h"
#include "datapath/wire/types.h"

namespace verbline::cm {

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

}  // namespace verbline::cm
