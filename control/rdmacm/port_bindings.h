// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Port numbers bound by ids, per port space. Several ids may share a number by the rules of Linux:
///
///     may two ids have one number?           both reuse addresses: yes. Otherwise:
///       different families, both family-only    yes
///       one of them has any address             no: EADDRNOTAVAIL
///       the same address                        no: EADDRINUSE
///       different addresses                     yes
///
/// Numbers are also reserved through NetworkPort::reserve, so that other processes of the host cannot take them, while
/// at least one id here has them.

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

    /// Binds `id`, whose source address is set, to its source port, or to an ephemeral one if that is 0. The number is
    /// reserved on `ports`. EADDRINUSE, EADDRNOTAVAIL; ENODEV: no ports.
    Result<void> bind(Id& id, PortSpace space, std::span<NetworkPort* const> ports);
    /// Makes the binding exclusive, for listeners, even if it was bound with `reuse_address`.
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
