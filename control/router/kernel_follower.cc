// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/kernel_follower.h"

#include <utility>
#include <variant>

namespace verbline::router {

using host::RouteMirror;

Result<std::unique_ptr<KernelFollower>> KernelFollower::open(control::Loop& loop, const std::string& netns,
                                                             forward::Fib& fib, OnInterface on_interface) {
    auto monitor = host::NetlinkMonitor::open(netns);
    if (!monitor) return std::unexpected(monitor.error());
    std::unique_ptr<KernelFollower> self(new KernelFollower(fib, std::move(*monitor), std::move(on_interface)));
    auto watch = loop.watch(self->monitor_->fd(), [follower = self.get()](std::uint32_t) { follower->receive(); });
    if (!watch) return std::unexpected(watch.error());
    self->watch_ = std::move(*watch);
    return self;
}

void KernelFollower::attach(int ifindex, forward::InterfaceId id) {
    play(routes_.attach(ifindex, id));
    play(interfaces_.attach(ifindex, id));
}

void KernelFollower::receive() {
    const auto events = monitor_->receive();
    if (!events) {
        // The socket is gone for good: we go on with the routes and addresses we have, rather than with none.
        counters_.netlink_errors.add();
        return watch_.cancel();
    }
    for (const auto& event : *events) {
        play(routes_.received(event));
        play(interfaces_.received(event));
    }
}

void KernelFollower::play(const RouteMirror::Actions& actions) {
    for (const auto& action : actions) {
        if (const auto* set = std::get_if<RouteMirror::Set>(&action)) {
            if (!fib_.replace(set->prefix, set->next_hop)) counters_.routes_refused.add();
        } else {
            // One that was refused above is not there to be removed.
            (void)fib_.remove(std::get<RouteMirror::Unset>(action).prefix);
        }
    }
}

void KernelFollower::play(const host::InterfaceMirror::Actions& actions) {
    for (const auto& changed : actions) on_interface_(changed.interface, changed.state);
}

void KernelFollower::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    routes_.counters().each(visit);
    monitor_->counters().each(visit);
}

}  // namespace verbline::router
