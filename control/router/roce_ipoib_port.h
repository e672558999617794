// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router's port on IPoIB over RoCE v2: what is the link's is in control/ipoib/roce_port.h.

#include "control/ipoib/roce_port.h"
#include "control/router/port.h"

namespace verbline::router {

class RoceIpoibPort final : public ControlPort {
public:
    /// `mac`, `qpn`: our addresses, unless the device has its own (`datagram_end`).
    RoceIpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, wire::MacAddress mac, wire::Qpn qpn,
                  wire::PKey pkey);

    const ipoib::Identity& identity() const { return link_.identity(); }

    void counters(const CounterVisitor& visit) const override;

private:
    void carrier_changed() override { link_.carrier_changed(carrier()); }
    void locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) override;
    std::optional<link::Destination> broadcast(wire::EtherType type) const override { return link_.broadcast(type); }

    ipoib::RocePort link_;
};

}  // namespace verbline::router
