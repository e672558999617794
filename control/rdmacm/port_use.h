// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How a port number is used, by an id or by a process of a node: the rules of Linux for who may share one, and whose
/// a request is. Pure; programs and nodes have the same rules from here.
///
///     may two uses have one number?        both reuse addresses: yes. Otherwise:
///       different families, both family-only    yes
///       one of them has any address             no: EADDRNOTAVAIL
///       the same address                        no: EADDRINUSE
///       different addresses                     yes
///
/// A listener does not reuse addresses: it has its address alone, also among those that were bound with it.

#include <cstdint>
#include <optional>

#include "control/rdmacm/address.h"
#include "datapath/wire/types.h"

namespace verbline::rdmacm {

struct PortUse {
    Family family = Family::ipv4;
    wire::Gid address = SocketAddress::any_ipv4();
    bool only_its_family = true;  ///< RDMA_OPTION_ID_AFONLY
    bool reuse = false;           ///< RDMA_OPTION_ID_REUSEADDR
    bool listening = false;       ///< excludes `reuse`

    constexpr bool any() const { return is_any_address(family, address); }
    /// What it becomes when it listens.
    constexpr PortUse as_listener() const {
        auto listener = *this;
        listener.reuse = false;
        listener.listening = true;
        return listener;
    }
    bool operator==(const PortUse&) const = default;
};

enum class PortConflict : std::uint8_t { none, any_address, same_address };

constexpr PortConflict conflict(const PortUse& one, const PortUse& other) {
    if (one.reuse && other.reuse) return PortConflict::none;
    if (one.only_its_family && other.only_its_family && one.family != other.family) return PortConflict::none;
    if (one.any() || other.any()) return PortConflict::any_address;
    const bool same = one.family == other.family && one.address == other.address;
    return same ? PortConflict::same_address : PortConflict::none;
}

/// How well a use suits a request; of several the best gets it. `bound`: its id may be about to listen, and its
/// process knows; programs tell their peers a port between bind and listen (qperf).
enum class Suits : std::uint8_t { no, bound, by_service_id, by_any_address, by_address };

/// `destination`: what the request's IP CM header says; of a request without one the GID that it is for, as AF_IB;
/// none: neither is known. A request without an IP CM header may go to a listener with an IP address, which refuses it.
constexpr Suits suits(const PortUse& use, const std::optional<SocketAddress>& destination) {
    const auto or_bound = [&](Suits how) { return use.listening ? how : Suits::bound; };
    const bool same_family = destination && destination->family == use.family;
    if (same_family && !use.any() && destination->gid == use.address) return or_bound(Suits::by_address);
    if (use.family == Family::ib) return or_bound(Suits::by_any_address);  // whatever the private data begins with
    if (!destination || destination->family == Family::ib) return or_bound(Suits::by_service_id);
    if (!use.any()) return Suits::no;
    return same_family || !use.only_its_family ? or_bound(Suits::by_any_address) : Suits::no;
}

}  // namespace verbline::rdmacm
