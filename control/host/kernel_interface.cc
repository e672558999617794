// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/kernel_interface.h"

#include <fmt/format.h>

#include "datapath/link/ip_gid.h"

namespace verbline::host {

namespace {

/// The same error with the interface's name in front.
std::unexpected<Error> about(const std::string& name, const Error& error) {
    return failure(error.code, fmt::format("interface {}: {}", name, error.what));
}

template <class Address>
BasicRoute<Address> kernel_route(const StaticRoute& route, const Address& network, const BasicHop<Address>& hop) {
    return {.prefix = {network, route.to.length}, .metric = route.metric, .protocol = RTPROT_STATIC, .hops = {hop}};
}

/// `use`: called with the route as the kernel has it, of its family.
Result<void> with_kernel_route(const StaticRoute& route, auto use) {
    const auto ipv6_gateway = link::ipv6_of(route.via);
    const auto network = link::ipv4_of(route.to.gid);
    if (!network) {
        return use(kernel_route<wire::Ipv6Address>(route, link::ipv6_of(route.to.gid),
                                                   {.ifindex = route.ifindex, .gateway = ipv6_gateway}));
    }
    Hop hop{.ifindex = route.ifindex};
    if (const auto gateway = link::ipv4_of(route.via)) {
        hop.gateway = *gateway;
    } else {
        hop.ipv6_gateway = ipv6_gateway;
    }
    return use(kernel_route<wire::Ipv4Address>(route, *network, hop));
}

}  // namespace

Result<int> configure(Netlink& kernel, const KernelInterface& wanted) {
    const auto link = kernel.link(wanted.name);
    if (!link) return std::unexpected(link.error());
    if (wanted.mtu != 0 && wanted.mtu != link->mtu) {
        if (const auto done = kernel.set_mtu(link->ifindex, wanted.mtu); !done) return about(wanted.name, done.error());
    }
    for (const auto& address : wanted.addresses) {
        const auto done = kernel.add_address(link->ifindex, address);
        if (!done) return about(wanted.name, done.error());
    }
    if (const auto done = kernel.set_up(link->ifindex, true); !done) return about(wanted.name, done.error());
    return link->ifindex;
}

Result<void> add_static_route(Netlink& kernel, const StaticRoute& route) {
    const auto done = with_kernel_route(route, [&](const auto& wanted) { return kernel.replace_route(wanted); });
    if (done) return done;
    const int code = done.error().code;
    if (code != EINVAL && code != ENETUNREACH && code != EHOSTUNREACH) return done;
    return failure(done.error().code,
                   done.error().what + " (the gateway must be a neighbour on an interface that is up)");
}

Result<void> remove_static_route(Netlink& kernel, const StaticRoute& route) {
    return with_kernel_route(route, [&](const auto& old) { return kernel.remove_route(old); });
}

}  // namespace verbline::host
