// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Follows the kernel's links, IP addresses and routes in one network namespace.
///
///     open ──> everything there is, Synced ──> changes ──> Resync, everything there is, Synced ──> changes ──> ...
///
/// Changes and dumps come over one socket, hence in the kernel's order without gaps. Everything is dumped again when
/// messages were lost (ENOBUFS), and after changes whose consequences the kernel does not announce: routes that vanish
/// with a link going down, with the IPv4 address they name as source (Linux before 6.7), or with a nexthop object;
/// nexthop objects that vanish with a link or its carrier; hops of a multipath route that die with a link, and come
/// back with it; hops of a replaced IPv6 route.
///
/// Between dumps there are pauses, so that a link that comes and goes does not keep the thread from its other work.
///
/// Owned by one thread. Give `fd()` to the control loop and call `receive()` whenever it is readable, and at
/// `deadline`.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/host/kernel_event.h"
#include "control/host/netlink_socket.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::host {

#define VERBLINE_NETLINK_COUNTERS(X)                                                           \
    X(netlink_rx_events, "links, addresses, next hops and routes that the kernel reported")    \
    X(netlink_rx_ignored, "kernel messages that concern no link, address, next hop or route")  \
    X(netlink_rx_overruns, "times that kernel messages were lost because the socket was full") \
    X(netlink_dumps, "full dumps requested")

struct NetlinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NETLINK_COUNTERS)
};

class NetlinkMonitor {
public:
    /// `netns`: a name as in `ip netns`; empty: the caller's own namespace. The first events are those of a dump.
    static Result<std::unique_ptr<NetlinkMonitor>> open(const std::string& netns);

    int fd() const { return socket_.fd(); }
    /// Events since the last call, bounded in number; if more are pending `fd()` stays readable. An error means that
    /// the kernel can no longer be followed.
    Result<std::vector<KernelEvent>> receive(Time now);
    /// When to call `receive` even if there is nothing to read; none: never.
    std::optional<Time> deadline() const { return stale_ && !dumping_ ? std::optional(next_dump_) : std::nullopt; }

    const NetlinkCounters& counters() const { return counters_; }

private:
    enum class LinkState : std::uint8_t { down, no_carrier, running };

    explicit NetlinkMonitor(NetlinkSocket socket) : socket_(std::move(socket)) {}

    Result<void> begin_dump();
    Result<void> dump_table();
    Result<void> advance(Time now, std::vector<KernelEvent>& out);
    void hear(nlmsghdr& message, std::vector<KernelEvent>& out);
    bool may_silence_others(const KernelEvent& event);

    NetlinkSocket socket_;
    bool stale_ = false;          ///< unannounced changes are possible: dump again
    bool dumping_ = false;        ///< between Resync and Synced
    bool table_done_ = false;     ///< the table being dumped is complete
    int dump_error_ = 0;          ///< errno of a failed dump
    std::size_t table_ = 0;       ///< index into kernel_tables of the one being dumped
    std::uint32_t sequence_ = 0;  ///< of the dump under way
    std::optional<Time> dump_began_;
    Time next_dump_ = 0;              ///< not before
    bool dead_hops_ = false;          ///< some hop was unusable in its last message
    std::map<int, LinkState> links_;  ///< unknown: running
    NetlinkCounters counters_;
};

}  // namespace verbline::host
