// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The ports that answer for each other's hosts. Their messages are passed to the Proxy; its actions are executed by
/// the ports and by the kernel, whose host routes reach the forwarding table through the KernelFollower.
///
///     ControlPort ── messages, neighbours ──> Proxy ──┬── Resolve, Verify, Answer ──> ControlPort
///                                                     └── AddRoute, RemoveRoute ────> Routes
///
/// Owned by the control thread; the ports outlive it.

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "control/loop/loop.h"
#include "control/router/port.h"
#include "control/router/proxy.h"

namespace verbline::router {

#define VERBLINE_PROXYING_COUNTERS(X) \
    X(proxy_routes_refused, "routes to hosts that the kernel did not take, or give up")

struct ProxyingCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PROXYING_COUNTERS)
};

class Proxying final : public NeighbourListener {
public:
    /// Adds or removes the route to a host by a port; false on failure. The route is in use on return, since the host
    /// that gets an answer may send at once.
    using Routes = std::function<bool(bool add, forward::InterfaceId port, const wire::Gid& host)>;

    Proxying(control::Loop& loop, Routes routes) : loop_(loop), routes_(std::move(routes)) {}
    Proxying(const Proxying&) = delete;
    Proxying& operator=(const Proxying&) = delete;
    ~Proxying() override;

    /// From now on the port answers for the hosts behind the others, and they for its own. It may be added already.
    void add(ControlPort& port);
    /// It does so no more: routes to hosts on its link, and to hosts on no other link than one's, are removed. May be
    /// repeated.
    void remove(ControlPort& port);

    const Proxy& proxy() const { return proxy_; }
    void counters(const CounterVisitor& visit) const;

private:
    void received(forward::InterfaceId port, const neighbour::Message& message) override;
    void wanted(forward::InterfaceId port, const wire::Gid& address) override;
    void resolved(forward::InterfaceId port, const wire::Gid& address) override;
    void lost(forward::InterfaceId port, const wire::Gid& address) override;
    void addresses_changed(forward::InterfaceId port, const std::vector<link::InterfaceAddress>& addresses) override;

    /// Actions have more as their consequence: they take place one after the other.
    void perform(const Proxy::Actions& actions);
    void run(const Proxy::Action& action);

    control::Loop& loop_;
    Routes routes_;
    std::map<forward::InterfaceId, ControlPort*> ports_;
    Proxy proxy_;
    std::deque<Proxy::Action> queue_;
    bool running_ = false;
    ProxyingCounters counters_;
};

}  // namespace verbline::router
