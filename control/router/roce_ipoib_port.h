// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An IPoIB port over RoCE v2: RFC 4391 on any Ethernet link, which has no subnet manager. What one would assign
/// follows from the link and the configuration instead:
///
///     GID                fe80::<EUI-64 of our MAC>; a neighbour's MAC follows from its GID, so that there are no paths
///     QPN                the neighbour's, by ARP, whose hardware addresses are QPN and GID
///     broadcast group    ff12:401b:<P_Key>::ffff:ffff, as an IPv6 group with its Ethernet address (RFC 2464, 7)
///     Q_Key              OpenSM's for such groups
///
/// The link is one Ethernet broadcast domain, as link-local addresses go no further.

#include "control/router/port.h"
#include "datapath/ipoib/interface.h"

namespace verbline::router {

#define VERBLINE_ROCE_IPOIB_PORT_COUNTERS(X) \
    X(neighbours_unreachable, "neighbours whose GID is no link-local address made of a MAC address")

struct RoceIpoibPortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ROCE_IPOIB_PORT_COUNTERS)
};

class RoceIpoibPort final : public ControlPort {
public:
    /// `mac`, `qpn`: our addresses, unless the device has its own (`datagram_end`).
    RoceIpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, wire::MacAddress mac, wire::Qpn qpn,
                  wire::PKey pkey);

    const ipoib::Identity& identity() const { return identity_; }

    void counters(const CounterVisitor& visit) const override;

private:
    void carrier_changed() override;
    void locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) override;
    std::optional<link::Destination> broadcast(wire::EtherType type) const override;

    void follow_device();

    ipoib::Identity identity_;
    const pmd::MulticastAddress group_;
    RoceIpoibPortCounters roce_counters_;
};

}  // namespace verbline::router
