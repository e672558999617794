// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The router advertisements of one port: what is advertised follows its addresses, when follows RFC 4861, 6.2.
///
///     ControlPort ── content, solicitations ──> RouterAdvertisements ── packet to all nodes ──> ControlPort
///
/// Owned by the control thread; must not outlive its loop.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "control/loop/loop.h"
#include "datapath/neighbour/router_advertiser.h"
#include "datapath/neighbour/router_discovery.h"
#include "pmd/base/counter.h"

namespace verbline::router {

#define VERBLINE_ROUTER_ADVERTISEMENT_COUNTERS(X)                                                          \
    X(nd_tx_router_advertisements, "router advertisements sent")                                           \
    X(nd_rx_router_solicitations, "router solicitations received, and answered")                           \
    X(nd_rx_dropped_router_solicitations, "router solicitations that break their rules (RFC 4861, 6.1.1)") \
    X(nd_rx_dropped_not_advertising, "router solicitations while nothing is advertised")

struct RouterAdvertisementCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ROUTER_ADVERTISEMENT_COUNTERS)
};

class RouterAdvertisements {
public:
    using Send = std::function<void(std::vector<std::byte> packet)>;

    RouterAdvertisements(control::Loop& loop, Send send);

    /// What to advertise from now on; none: nothing, the link is down or the port has no link-local address. Prefixes
    /// that were advertised before, are not in it, and are not `pending` are withdrawn: advertised for a while with
    /// lifetimes of zero, which deprecates what hosts have made of them (RFC 4862, 5.5.3) and ends the route to the
    /// link (RFC 4861, 6.3.4). `pending`: those of addresses that cannot be used yet, as they are being probed for.
    void set(const std::optional<neighbour::Advertisement>& content, const std::vector<wire::Ipv6Prefix>& pending = {});
    void received(neighbour::Solicitation solicitation);
    /// Tells the hosts to use this router no longer (RFC 4861, 6.2.5), and advertises nothing from now on.
    void retire();

    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    struct Withdrawn {
        neighbour::AdvertisedPrefix prefix;
        unsigned left;  ///< advertisements that are still to say so
    };

    bool withdraw_others(const std::vector<wire::Ipv6Prefix>& pending);
    void send(neighbour::Advertisement advertisement);
    void tick();
    void schedule();

    control::Loop& loop_;
    Send send_;
    std::optional<neighbour::Advertisement> content_;
    std::vector<neighbour::AdvertisedPrefix> announced_;  ///< those that hosts know; outlasts the link
    std::vector<Withdrawn> withdrawn_;
    neighbour::RouterAdvertiser advertiser_;
    RouterAdvertisementCounters counters_;
    control::Timer timer_;
};

}  // namespace verbline::router
