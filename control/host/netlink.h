// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Requests to the kernel about links, addresses and routes of one network namespace.
///
/// Synchronous: each call returns the kernel's answer, or ETIMEDOUT if none came within the limit. The kernel answers
/// inside the send, within microseconds; the limit only keeps the control thread from hanging. Owned by one thread. All
/// calls that add are idempotent.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/host/kernel_event.h"
#include "control/host/netlink_socket.h"
#include "pmd/base/time.h"

struct rtnl_route;

namespace verbline::host {

class Netlink {
public:
    /// `netns`: a name as in `ip netns`; empty: the caller's own namespace.
    static Result<Netlink> open(const std::string& netns, Time limit = 2 * second);

    /// ENODEV: no link of that name.
    Result<Link> link(std::string_view name);
    Result<void> set_up(int ifindex, bool up);
    Result<void> set_mtu(int ifindex, std::uint32_t mtu);
    /// Whether packets pass (IFF_RUNNING, ifOperStatus of RFC 2863), told to all who follow the interface at once. Of a
    /// carrier that is lost the kernel tells them up to a second later: call after it is lost, and after it is back.
    Result<void> set_running(int ifindex, bool running);

    Result<void> add_address(int ifindex, const link::InterfaceAddress& address);
    Result<void> remove_address(int ifindex, const link::InterfaceAddress& address);

    /// Adds the route, or replaces the first route of the same prefix, table, TOS and metric.
    /// Address: wire::Ipv4Address or wire::Ipv6Address.
    template <class Address>
    Result<void> replace_route(const BasicRoute<Address>& route);

    /// Removes the route of this prefix, table, metric and protocol, with these hops. One that is not there is no
    /// error.
    template <class Address>
    Result<void> remove_route(const BasicRoute<Address>& route);

    /// A route to a single host on the interface's link. Its metric is greater than a default one, so that others'
    /// routes to the host go before. Removing one that is not there is no error.
    Result<void> add_host_route(int ifindex, const wire::Gid& host);
    Result<void> remove_host_route(int ifindex, const wire::Gid& host);

    /// Lists all links, addresses and routes as events that add them.
    Result<std::vector<KernelEvent>> list();

private:
    using Each = std::function<void(nlmsghdr&)>;

    Netlink(NetlinkSocket socket, Time limit) : socket_(std::move(socket)), limit_(limit) {}

    Result<void> request(nl_msg& message, const std::string& what, const Each& each = [](nlmsghdr&) {});
    Result<void> remove(rtnl_route& route, const std::string& what);
    Result<void> answer(std::uint32_t sequence, const std::string& what, const Each& each);

    NetlinkSocket socket_;
    Time limit_;
};

}  // namespace verbline::host
