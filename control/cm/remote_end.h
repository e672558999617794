// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Lookup key of a far end: a number that is unique within a channel adapter or a port.

#include <cstddef>
#include <cstdint>

#include "datapath/wire/cm.h"
#include "datapath/wire/types.h"

namespace verbline::cm {

struct RemoteEnd {
    std::uint64_t owner = 0;   ///< scope of the number: a CA's GUID; for peer-to-peer, the service id
    wire::Gid gid{};           ///< zero where `owner` suffices
    std::uint32_t number = 0;  ///< communication id, queue pair number, request id
    bool operator==(const RemoteEnd&) const = default;

    /// A connection, as REQ and REJ name it.
    static constexpr RemoteEnd connection(wire::Guid ca, std::uint32_t id) {
        return {.owner = static_cast<std::uint64_t>(ca), .number = id};
    }
    /// Software devices may share a GUID; the port's GID tells them apart.
    static constexpr RemoteEnd queue_pair(wire::Guid ca, const wire::Gid& gid, wire::Qpn qpn) {
        return {.owner = static_cast<std::uint64_t>(ca), .gid = gid, .number = static_cast<std::uint32_t>(qpn)};
    }
    static constexpr RemoteEnd peer(wire::CmServiceId service, const wire::Gid& gid) {
        return {.owner = static_cast<std::uint64_t>(service), .gid = gid};
    }
    /// SIDR. `lid`: identifies a sender without a GID.
    static constexpr RemoteEnd datagram_request(const wire::Gid& gid, wire::Lid lid, std::uint32_t id) {
        return {.owner = static_cast<std::uint64_t>(lid), .gid = gid, .number = id};
    }
};

}  // namespace verbline::cm
