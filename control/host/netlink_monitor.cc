// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink_monitor.h"

#include <cstring>
#include <utility>

#include "control/host/netlink_message.h"
#include "datapath/link/ip_gid.h"

namespace verbline::host {

namespace {

constexpr int max_datagrams = 64;  ///< per call, so that the control thread gets to do other things

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

Result<std::vector<KernelEvent>> NetlinkMonitor::receive() {
    std::vector<KernelEvent> out;
    // A dump is begun on an empty socket only: on a full one, the kernel would have no room for its beginning.
    for (int i = 0; i < max_datagrams || (stale_ && !dumping_); ++i) {
        const auto outcome = socket_.receive([&](nlmsghdr& message) { hear(message, out); });
        if (!outcome) return std::unexpected(outcome.error());
        if (*outcome == NetlinkSocket::Outcome::lost) {
            counters_.netlink_rx_overruns.add();
            stale_ = true;
        }
        if (*outcome == NetlinkSocket::Outcome::nothing) {
            if (!stale_ || dumping_) break;
            out.emplace_back(Resync{});
            if (const auto begun = begin_dump(); !begun) return std::unexpected(begun.error());
        }
        if (const auto done = advance(out); !done) return std::unexpected(done.error());
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
        case RTM_NEWNEXTHOP: return;  // its effects on routes are announced as routes
        case RTM_DELNEXTHOP: stale_ = true; return;
        default: break;
    }
    auto event = parse_kernel_message(message, dumped);
    if (!event) return counters_.netlink_rx_ignored.add();
    counters_.netlink_rx_events.add();
    stale_ = (may_silence_others(*event) && !dumped) || stale_;
    out.push_back(std::move(*event));
}

/// Whether the event may have removed other objects without notification.
bool NetlinkMonitor::may_silence_others(const KernelEvent& event) {
    // An unknown link must be assumed to have been up.
    if (const auto* changed = std::get_if<LinkChanged>(&event)) {
        const int ifindex = changed->link.ifindex;
        if (!changed->link.up) return down_.insert(ifindex).second;
        down_.erase(ifindex);
        return false;
    }
    if (const auto* removed = std::get_if<LinkRemoved>(&event)) return down_.erase(removed->ifindex) == 0;
    // It replaces all hops of an IPv6 route, and tells of the new one only.
    if (const auto* added = std::get_if<Ipv6RouteAdded>(&event)) return added->place == Place::instead_of_first;
    const auto* gone = std::get_if<AddressRemoved>(&event);
    return gone != nullptr && link::ipv4_of(gone->address.gid);  // the routes of an IPv6 address stay without it
}

Result<void> NetlinkMonitor::begin_dump() {
    stale_ = false;
    dumping_ = true;
    table_ = 0;
    counters_.netlink_dumps.add();
    return dump_table();
}

/// When a table is complete: on to the next, or to the end.
Result<void> NetlinkMonitor::advance(std::vector<KernelEvent>& out) {
    if (dump_error_ != 0) {
        return failure(dump_error_, std::string("cannot list the kernel's tables: ") + std::strerror(dump_error_));
    }
    if (!std::exchange(table_done_, false)) return {};
    if (++table_ < kernel_tables.size()) return dump_table();
    dumping_ = false;
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
