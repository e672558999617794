// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An IPoIB interface over RoCE v2: RFC 4391 on any Ethernet link, which has no subnet manager. What one would assign
/// follows from the link and the configuration instead:
///
///     GID                fe80::<EUI-64 of our MAC>; a neighbour's MAC follows from its GID, so that there are no paths
///     QPN                the neighbour's, by ARP, whose hardware addresses are QPN and GID
///     broadcast group    ff12:401b:<P_Key>::ffff:ffff, as an IPv6 group with its Ethernet address (RFC 2464, 7); it
///                        carries every multicast packet
///     Q_Key              OpenSM's for such groups
///
/// The link is one Ethernet broadcast domain, as link-local addresses go no further. What the interface is for, a
/// router's port (control/router/roce_ipoib_port.h) or a program's, is its user's. Owned by the control thread.

#include <functional>
#include <optional>

#include "datapath/ipoib/interface.h"

namespace verbline::ipoib {

#define VERBLINE_ROCE_PORT_COUNTERS(X) \
    X(neighbours_unreachable, "neighbours whose GID is no link-local address made of a MAC address")

struct RocePortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ROCE_PORT_COUNTERS)
};

class RocePort {
public:
    struct Setup {
        wire::MacAddress mac;  ///< like `qpn`: ours, unless the device has its own addresses (`datagram_end`)
        wire::Qpn qpn{};
        wire::PKey pkey{0xffff};
        pmd::NetDevice* device = nullptr;  ///< whose filters are set; outlives the interface
        /// The interface has this identity; none: it is down.
        std::function<void(const std::optional<Identity>&)> identify;
        std::function<void(const pmd::MulticastAddress&)> attach;
        std::function<void()> up;    ///< after `identify` and `attach`
        std::function<void()> down;  ///< before `identify`
    };

    explicit RocePort(Setup setup);

    /// It is up while the device's link is.
    void carrier_changed(bool carrier);

    bool up() const { return up_; }
    const Identity& identity() const { return identity_; }
    wire::IpoibAddress address() const { return {.qpn = identity_.qpn, .gid = identity_.port.gid}; }

    /// Where a neighbour is; none, and counted: its GID says nothing of its MAC.
    std::optional<link::Destination> locate(const wire::IpoibAddress& neighbour, wire::EtherType type);
    link::Destination broadcast(wire::EtherType type) const;

    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    void follow_device();

    const Setup setup_;
    Identity identity_;
    const pmd::MulticastAddress group_;
    bool up_ = false;
    RocePortCounters counters_;
};

}  // namespace verbline::ipoib
