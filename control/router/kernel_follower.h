// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Follows the kernel: its routes go to the forwarding table, its interfaces' addresses to our ports.
///
///     netlink ──> NetlinkMonitor ──┬─> RouteMirror, one for each family ─> forward::Fib, forward::Ipv6Fib
///                                  └─> InterfaceMirror ─> on_interface ──> Port::set_addresses
///
/// Owned by the control thread.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "control/host/interface_mirror.h"
#include "control/host/netlink_monitor.h"
#include "control/host/route_mirror.h"
#include "control/loop/loop.h"
#include "datapath/forward/fib.h"

namespace verbline::router {

#define VERBLINE_KERNEL_FOLLOWER_COUNTERS(X)                                              \
    X(routes_refused, "routes of the kernel's that the forwarding table has no room for") \
    X(netlink_errors, "times that the kernel could not be followed")

struct KernelFollowerCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_KERNEL_FOLLOWER_COUNTERS)
};

class KernelFollower {
public:
    using OnInterface = std::function<void(forward::InterfaceId, const host::InterfaceState&)>;

    /// Not owned.
    struct Tables {
        forward::Fib& ipv4;
        forward::Ipv6Fib& ipv6;
        host::Ipv6Gateways& ipv6_gateways;
    };

    /// `netns`: as in `ip netns`; empty: the caller's own.
    static Result<std::unique_ptr<KernelFollower>> open(control::Loop& loop, const std::string& netns,
                                                        const Tables& tables, OnInterface on_interface);
    KernelFollower(const KernelFollower&) = delete;
    KernelFollower& operator=(const KernelFollower&) = delete;
    ~KernelFollower();

    /// Maps the kernel's interface `ifindex` to our port `id`.
    void attach(int ifindex, forward::InterfaceId id);

    /// Does now what the kernel has announced so far: what was changed there before is in the tables, or waits for
    /// shards. On_interface may call it: what it was called in the middle of is done first.
    void catch_up();

    void counters(const CounterVisitor& visit) const;

private:
    KernelFollower(control::Loop& loop, const Tables& tables, std::unique_ptr<host::NetlinkMonitor> monitor,
                   OnInterface on_interface);

    void receive();
    template <class Fib, class Actions>
    void play(Fib& fib, const Actions& actions);
    void play_all();
    std::size_t waiting() const { return tables_.ipv4.waiting() + tables_.ipv6.waiting(); }
    void advance();

    control::Loop& loop_;
    Tables tables_;
    std::unique_ptr<host::NetlinkMonitor> monitor_;
    OnInterface on_interface_;
    host::RouteMirror routes_{&tables_.ipv6_gateways};
    host::Ipv6RouteMirror ipv6_routes_;
    host::InterfaceMirror interfaces_;
    // What is left to be done, in order: first what the last event has changed, then further events.
    std::deque<host::InterfaceMirror::Changed> interfaces_changed_;
    std::deque<host::KernelEvent> events_;
    KernelFollowerCounters counters_;
    control::Watch watch_;
    control::Timer advance_;  ///< while changes of routes wait for the shards
    control::Timer dump_;     ///< the monitor's pause before its next full dump
};

}  // namespace verbline::router
