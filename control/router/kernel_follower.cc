// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/kernel_follower.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace verbline::router {
namespace {

/// Of attempts to change a table that shards may still be reading; they poll more often while they are awake.
constexpr Time advance_period = millisecond;

}  // namespace

Result<std::unique_ptr<KernelFollower>> KernelFollower::open(control::Loop& loop, const std::string& netns,
                                                             const Tables& tables, OnInterface on_interface) {
    auto monitor = host::NetlinkMonitor::open(netns);
    if (!monitor) return std::unexpected(monitor.error());
    std::unique_ptr<KernelFollower> self(
        new KernelFollower(loop, tables, std::move(*monitor), std::move(on_interface)));
    auto watch = loop.watch(self->monitor_->fd(), [follower = self.get()](std::uint32_t) { follower->receive(); });
    if (!watch) return std::unexpected(watch.error());
    self->watch_ = std::move(*watch);
    return self;
}

KernelFollower::KernelFollower(control::Loop& loop, const Tables& tables, std::unique_ptr<host::NetlinkMonitor> monitor,
                               OnInterface on_interface)
    : loop_(loop), tables_(tables), monitor_(std::move(monitor)), on_interface_(std::move(on_interface)) {
    const auto refused = [this](const Error&) { counters_.routes_refused.add(); };
    tables_.ipv4.on_refused(refused);
    tables_.ipv6.on_refused(refused);
}

KernelFollower::~KernelFollower() {
    tables_.ipv4.on_refused({});
    tables_.ipv6.on_refused({});
}

void KernelFollower::attach(int ifindex, forward::InterfaceId id) {
    play(tables_.ipv4, routes_.attach(ifindex, id));
    play(tables_.ipv6, ipv6_routes_.attach(ifindex, id));
    std::ranges::copy(interfaces_.attach(ifindex, id), std::back_inserter(interfaces_changed_));
    play_all();
}

void KernelFollower::catch_up() {
    if (watch_) receive();
}

void KernelFollower::receive() {
    const auto events = monitor_->receive(loop_.now());
    if (!events) {
        // The socket cannot be reopened: keep the routes and addresses of the last dump.
        counters_.netlink_errors.add();
        dump_.cancel();
        return watch_.cancel();
    }
    const auto due = monitor_->deadline();
    dump_ = due ? loop_.at(*due, [this] { receive(); }) : control::Timer();
    std::ranges::copy(*events, std::back_inserter(events_));
    play_all();
}

/// Goes on with what is left wherever it is called from.
void KernelFollower::play_all() {
    while (!interfaces_changed_.empty() || !events_.empty()) {
        if (!interfaces_changed_.empty()) {
            const auto changed = std::move(interfaces_changed_.front());
            interfaces_changed_.pop_front();
            on_interface_(changed.interface, changed.state);
            continue;
        }
        const auto event = std::move(events_.front());
        events_.pop_front();
        play(tables_.ipv4, routes_.received(event));
        play(tables_.ipv6, ipv6_routes_.received(event));
        std::ranges::copy(interfaces_.received(event), std::back_inserter(interfaces_changed_));
    }
}

template <class Fib, class Actions>
void KernelFollower::play(Fib& fib, const Actions& actions) {
    const auto perform = [&]<class Action>(const Action& action) {
        if constexpr (requires { action.next_hops; }) {
            if (!fib.replace(action.prefix, action.next_hops)) counters_.routes_refused.add();
        } else {
            // One that was refused above, but for want of room, is not there to be removed.
            (void)fib.remove(action.prefix);
        }
    };
    for (const auto& action : actions) std::visit(perform, action);
    if (waiting() > 0 && !advance_) advance_ = loop_.every(advance_period, [this] { advance(); });
}

void KernelFollower::advance() {
    tables_.ipv4.advance();
    tables_.ipv6.advance();
    if (waiting() == 0) advance_.cancel();
}

void KernelFollower::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    visit("fib_changes_waiting", waiting(), "changes of routes that wait until no shard reads the table they go to");
    visit("fib_routes_refused", tables_.ipv4.refused() + tables_.ipv6.refused(),
          "routes that are refused for want of room, and used as soon as others make some");
    const auto visit_ipv6 = [&](std::string_view name, std::uint64_t value, std::string_view help) {
        visit("ipv6_" + std::string(name), value, help);
    };
    tables_.ipv4.counters().each(visit);
    tables_.ipv6.counters().each(visit_ipv6);
    routes_.counters().each(visit);
    ipv6_routes_.counters().each(visit_ipv6);
    monitor_->counters().each(visit);
}

}  // namespace verbline::router
