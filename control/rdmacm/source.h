// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Selection of the port and source address of an id.

#include <cstdint>
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

/// The port that has this address. EADDRNOTAVAIL: none.
Result<Source> owner_of(std::span<NetworkPort* const> ports, const SocketAddress& address);

/// Source for a destination: the address of its family with the longest matching prefix; if none matches, that of the
/// first port that is up and can have a router. ENETUNREACH: none.
Result<Source> source_towards(std::span<NetworkPort* const> ports, const SocketAddress& destination);

/// For a loopback or unspecified destination: the first port that is up. ENODEV: none.
Result<Source> loopback_source(std::span<NetworkPort* const> ports, Family family);

/// GID index of an address: RoCE v2 if available. None: the port has no such GID.
std::optional<unsigned> gid_index_of(const NetworkPort& port, const NetworkPort::Facts& facts, const wire::Gid& gid);

/// Index in the port's P_Key table of the partition that `pkey` names; of two the full member's, as Linux takes it.
/// P_Key of the partition that an IP address of the port is in; none: in the default one, or not the port's.
std::optional<wire::PKey> pkey_of(const NetworkPort::Facts& facts, const wire::Gid& address);

/// GID of an address on the wire: RoCE: the address; InfiniBand: the port GID.
constexpr const wire::Gid& wire_gid(const NetworkPort::Facts& facts, const wire::Gid& address) {
    return facts.kind == link::GidTable::Kind::ib ? facts.port_gid : address;
}

}  // namespace verbline::rdmacm
