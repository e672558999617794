// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink_monitor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "control/host/netlink_message.h"
#include "datapath/link/ip_gid.h"

namespace verbline::host {

namespace {

constexpr int max_datagrams = 64;  ///< per call, so that the control thread gets to do other things
/// Between dumps, at least; a longer one is followed by as long a pause, so that dumps take half of the time at most.
constexpr Time shortest_pause = 100 * millisecond;

/// Whether a hop is unusable now; the kernel does not notify when it becomes usable.
bool has_dead_hop(const KernelEvent& event) {
    const auto any_dead = [](const auto& route) {
        return std::ranges::any_of(route.hops, [](const auto& hop) { return !hop.usable; });
    };
    if (const auto* added = std::get_if<RouteAdded>(&event)) return any_dead(added->route);
    if (const auto* added = std::get_if<Ipv6RouteAdded>(&event)) return any_dead(added->route);
    const auto* changed = std::get_if<NextHopChanged>(&event);
    return changed != nullptr && !changed->object.hop.usable;
}

}  // namespace

Result<std::unique_ptr<NetlinkMonitor>> NetlinkMonitor::open(const std::string& netns) {
    auto socket = NetlinkSocket::open(netns);
    if (!socket) return std::unexpected(socket.error());
    for (const auto group : {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_IFADDR,
                             RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP}) {
        if (const auto done = socket->subscribe(group); !done) return std::unexpected(done.error());
    }
    std::unique_ptr<NetlinkMonitor> monitor(new NetlinkMonitor(std::move(*socket)));
    if (const auto begun = monitor->begin_dump(); !begun) return std::unexpected(begun.error());
    return monitor;
}

Result<std::vector<KernelEvent>> NetlinkMonitor::receive(Time now) {
    std::vector<KernelEvent> out;
    if (dumping_ && !dump_began_) dump_began_ = now;  // by `open`
    const auto dump_is_due = [&] { return stale_ && !dumping_ && now >= next_dump_; };
    // A dump is begun on an empty socket only: on a full one, the kernel would have no room for its beginning.
    for (int i = 0; i < max_datagrams || dump_is_due(); ++i) {
        const auto outcome = socket_.receive([&](nlmsghdr& message) { hear(message, out); });
        if (!outcome) return std::unexpected(outcome.error());
        if (*outcome == NetlinkSocket::Outcome::lost) {
            counters_.netlink_rx_overruns.add();
            stale_ = true;
        }
        if (*outcome == NetlinkSocket::Outcome::nothing) {
            if (!dump_is_due()) break;
            out.emplace_back(Resync{});
            dump_began_ = now;
            if (const auto begun = begin_dump(); !begun) return std::unexpected(begun.error());
        }
        if (const auto done = advance(now, out); !done) return std::unexpected(done.error());
    }
    return out;
}

void NetlinkMonitor::hear(nlmsghdr& message, std::vector<KernelEvent>& out) {
    const bool dumped = dumping_ && socket_.answers(message, sequence_);
    // The table changed under the dump, which may have skipped something.
    if (dumped && (message.nlmsg_flags & NLM_F_DUMP_INTR) != 0) stale_ = true;
    switch (message.nlmsg_type) {
        case NLMSG_DONE: table_done_ = table_done_ || dumped; return;
        case NLMSG_ERROR:
            if (dumped && nlmsg_datalen(&message) >= static_cast<int>(sizeof(nlmsgerr))) {
                dump_error_ = -static_cast<const nlmsgerr*>(nlmsg_data(&message))->error;
            }
            return;
        default: break;
    }
    auto event = parse_kernel_message(message, dumped);
    if (!event) return counters_.netlink_rx_ignored.add();
    counters_.netlink_rx_events.add();
    stale_ = (may_silence_others(*event) && !dumped) || stale_;
    dead_hops_ = has_dead_hop(*event) || dead_hops_;
    out.push_back(std::move(*event));
}

/// Whether the event may have removed or changed other objects without notification.
bool NetlinkMonitor::may_silence_others(const KernelEvent& event) {
    // An unknown link must be assumed to have been up.
    if (const auto* changed = std::get_if<LinkChanged>(&event)) {
        const auto& link = changed->link;
        const auto now = !link.up ? LinkState::down : !link.carrier ? LinkState::no_carrier : LinkState::running;
        auto& known = links_.try_emplace(link.ifindex, LinkState::running).first->second;
        const auto before = std::exchange(known, now);
        return now < before || (now > before && dead_hops_);
    }
    if (std::holds_alternative<NextHopRemoved>(event)) return true;
    if (const auto* removed = std::get_if<LinkRemoved>(&event)) {
        const auto known = links_.extract(removed->ifindex);
        return known.empty() || known.mapped() != LinkState::down;
    }
    // It replaces all hops of an IPv6 route, and contains the new one only.
    if (const auto* added = std::get_if<Ipv6RouteAdded>(&event)) return added->place == Place::instead_of_first;
    // The first IPv4 address of a link revives hops as the link itself does.
    if (const auto* added = std::get_if<AddressAdded>(&event)) return dead_hops_ && link::ipv4_of(added->address.gid);
    const auto* gone = std::get_if<AddressRemoved>(&event);
    return gone != nullptr && link::ipv4_of(gone->address.gid);  // the routes of an IPv6 address stay without it
}

Result<void> NetlinkMonitor::begin_dump() {
    stale_ = false;
    dead_hops_ = false;
    dumping_ = true;
    table_ = 0;
    counters_.netlink_dumps.add();
    return dump_table();
}

/// When a table is complete: on to the next, or to the end.
Result<void> NetlinkMonitor::advance(Time now, std::vector<KernelEvent>& out) {
    if (dump_error_ != 0) {
        return failure(dump_error_, std::string("cannot list the kernel's tables: ") + std::strerror(dump_error_));
    }
    if (!std::exchange(table_done_, false)) return {};
    if (++table_ < kernel_tables.size()) return dump_table();
    dumping_ = false;
    next_dump_ = now + std::max(shortest_pause, now - dump_began_.value_or(now));
    // A dump that is outdated already is repeated before Synced is emitted.
    if (!stale_) out.emplace_back(Synced{});
    return {};
}

Result<void> NetlinkMonitor::dump_table() {
    const auto [type, family] = kernel_tables[table_];
    const auto sequence = socket_.send_dump(type, family);
    if (!sequence) return std::unexpected(sequence.error());
    sequence_ = *sequence;
    return {};
}

}  // namespace verbline::host
