// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which lanes use which port numbers of the connection manager's port spaces, by the rules of
/// control/rdmacm/port_use.h: several lanes of a node may have one number, at different addresses, or all with reuse. A
/// lane of a hub is a host with addresses of its own, and shares numbers with itself only.
///
/// A use is no object: those of a lane that are equal are interchangeable.
///
/// Pure. Owned by the registry.

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <vector>

#include "control/hub/lane_id.h"
#include "control/rdmacm/port_use.h"

namespace verbline::hub {

using rdmacm::PortUse;

/// A number of a port space (annex A11).
struct PortNumber {
    std::uint16_t space = 0, number = 0;
    auto operator<=>(const PortNumber&) const = default;
};

class PortTable {
public:
    /// Whether lanes have the same addresses: a node's.
    explicit PortTable(bool shared) : shared_(shared) {}

    /// The lane that has what `use` would conflict with.
    std::expected<void, LaneId> reserve(LaneId lane, PortNumber port, const PortUse& use);
    /// Turns one of the lane's uses into another. None: the lane has no such use.
    std::expected<void, std::optional<LaneId>> change(LaneId lane, PortNumber port, const PortUse& from,
                                                      const PortUse& to);
    /// False: the lane has no such use.
    bool release(LaneId lane, PortNumber port, const PortUse& use);
    void leave(LaneId lane);

    /// Whether any lane uses the number.
    bool used(PortNumber port) const { return uses_.contains(port); }
    /// The lane whose use the request suits best; of equals the first.
    std::optional<LaneId> holder(PortNumber port, const std::optional<rdmacm::SocketAddress>& destination) const;

private:
    struct Held {
        LaneId lane;
        PortUse use;
        bool operator==(const Held&) const = default;
    };
    using Uses = std::vector<Held>;

    std::optional<LaneId> against(const Uses& uses, const Held& wanted, const Held* instead_of) const;

    bool shared_;
    std::map<PortNumber, Uses> uses_;
};

}  // namespace verbline::hub
