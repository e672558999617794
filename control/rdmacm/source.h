// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which of our ports and addresses an id is to use.

#include <optional>
#include <span>

#include "control/rdmacm/address.h"
#include "control/rdmacm/network.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::rdmacm {

struct Source {
    NetworkPort* port = nullptr;
    NetworkPort::Facts facts;
    wire::Gid address{};  ///< IP address, or GID for AF_IB
};

/// Whose address it is. EADDRNOTAVAIL: nobody's.
Result<Source> owner_of(std::span<NetworkPort* const> ports, const SocketAddress& address);

/// The source for a destination: of all addresses of its family the one whose network has it, the longest prefix first;
/// without such a network that of the first port that is up and can have a router. ENETUNREACH.
Result<Source> source_towards(std::span<NetworkPort* const> ports, const SocketAddress& destination);

/// For a loopback address, and a destination that is any address: the first port that is up. ENODEV.
Result<Source> loopback_source(std::span<NetworkPort* const> ports, Family family);

/// How packets are sent from an address of a port: RoCE v2 if it can. None: it has no such GID.
std::optional<unsigned> gid_index_of(const NetworkPort& port, const NetworkPort::Facts& facts, const wire::Gid& gid);

/// The GID that stands for an address of a port on the wire: on RoCE the address, on InfiniBand the port's.
constexpr const wire::Gid& wire_gid(const NetworkPort::Facts& facts, const wire::Gid& address) {
    return facts.kind == link::GidTable::Kind::ib ? facts.port_gid : address;
}

}  // namespace verbline::rdmacm
