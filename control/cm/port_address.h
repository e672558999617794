// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a peer's port is known by: its GID, its LID where there are LIDs.

#include "control/mad/gmp.h"
#include "datapath/wire/types.h"

namespace verbline::cm {

struct PortAddress {
    wire::Gid gid{};
    wire::Lid lid{};  ///< 0 or permissive: none; so on RoCE

    static PortAddress of(const mad::GmpPeer& peer) {
        return {.gid = peer.path.address.dgid, .lid = peer.path.address.dlid};
    }
    /// Whether a MAD came from there. Within a subnet it may have a GRH or not, whatever ours to it have; and a port's
    /// GID in one may be any of several: then its LID tells.
    bool sent(const mad::GmpPeer& from) const {
        const auto& address = from.path.address;
        const bool has_lid = lid != wire::Lid{} && lid != wire::permissive_lid;
        return (has_lid && address.dlid == lid) || (address.global && gid != wire::Gid{} && address.dgid == gid);
    }
};

}  // namespace verbline::cm
