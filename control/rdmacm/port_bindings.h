// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who has which port number of which space: several ids may, by rules that are those of Linux.
///
///     may two ids have one number?           both reuse addresses: yes. Otherwise:
///       different families, both family-only    yes
///       one of them has any address             no: EADDRNOTAVAIL
///       the same address                        no: EADDRINUSE
///       different addresses                     yes
///
/// Numbers are reserved with the ports below (network.h), so that other processes of the host keep off, as long as at
/// least one id here has them.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "control/rdmacm/id.h"
#include "control/rdmacm/network.h"
#include "pmd/base/error.h"

namespace verbline::rdmacm {

class PortBindings {
public:
    PortBindings() = default;
    PortBindings(const PortBindings&) = delete;
    PortBindings& operator=(const PortBindings&) = delete;
    ~PortBindings();

    /// Gives `id`, whose source address is set, its source port: that one, or an ephemeral one if it is 0. Reserved on
    /// `ports`. EADDRINUSE, EADDRNOTAVAIL; ENODEV: no ports.
    Result<void> bind(Id& id, PortSpace space, std::span<NetworkPort* const> ports);
    /// A listener shares its address with nobody, even if it was bound with `reuse_address`.
    Result<void> exclude_others(Id& id);
    void release(Id& id);

    std::span<Id* const> users(BoundPort port) const;

private:
    struct Users {
        std::vector<Id*> ids;
        std::vector<NetworkPort*> reserved;
    };

    Result<std::uint16_t> ephemeral(PortSpace space, std::span<NetworkPort* const> ports);
    Result<void> reserve(BoundPort port, Users& users, std::span<NetworkPort* const> ports);

    std::map<BoundPort, Users> users_;
};

}  // namespace verbline::rdmacm
