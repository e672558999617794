// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Port numbers bound by ids, per port space. Several ids may share a number by the rules of port_use.h.
///
/// Each use of a number is also reserved through NetworkPort::reserve, so that ids of other processes of the host are
/// under the same rules.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "control/rdmacm/id.h"
#include "control/rdmacm/network.h"
#include "control/rdmacm/port_use.h"
#include "pmd/base/error.h"

namespace verbline::rdmacm {

/// How the id uses its port number, or would.
PortUse use_of(const Id& id);

class PortBindings {
public:
    PortBindings() = default;
    PortBindings(const PortBindings&) = delete;
    PortBindings& operator=(const PortBindings&) = delete;
    ~PortBindings();

    /// Binds `id`, whose source address is set, to its source port, or to an ephemeral one if that is 0. The number is
    /// reserved on `ports`. EADDRINUSE, EADDRNOTAVAIL; ENODEV: no ports.
    Result<void> bind(Id& id, PortSpace space, std::span<NetworkPort* const> ports);
    /// Makes the binding a listener's: exclusive, even if it was bound with `reuse_address`, which is reset.
    Result<void> listen(Id& id);
    /// The address or the options of a bound id have changed: tells the ports. What they refuse, they keep as it was.
    void update(const Id& id);
    void release(Id& id);

    std::vector<Id*> users(BoundPort port) const;

private:
    struct Reservation {
        NetworkPort* on;
        PortUse use;
    };
    struct Binding {
        Id* id;
        std::vector<Reservation> reserved;
    };
    using Bindings = std::vector<Binding>;

    Result<Binding> take(Id& id, PortSpace space, std::span<NetworkPort* const> ports) const;
    Result<Binding> take_ephemeral(Id& id, PortSpace space, std::span<NetworkPort* const> ports) const;
    Result<void> check(const Id& id, const PortUse& use, BoundPort port) const;
    Binding& binding_of(const Id& id);

    std::map<BoundPort, Bindings> bindings_;
};

}  // namespace verbline::rdmacm
