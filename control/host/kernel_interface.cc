// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/kernel_interface.h"

#include <fmt/format.h>

#include "datapath/wire/text.h"

namespace verbline::host {

namespace {

/// The same error, said of the interface by its name.
std::unexpected<Error> about(const std::string& name, const Error& error) {
    return failure(error.code, fmt::format("interface {}: {}", name, error.what));
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
    const auto done = kernel.replace_route(
        {.prefix = route.to, .metric = route.metric, .protocol = RTPROT_STATIC, .hops = {{.gateway = route.via}}});
    if (done || (done.error().code != EINVAL && done.error().code != ENETUNREACH)) return done;
    return failure(done.error().code,
                   done.error().what + " (the gateway must be a neighbour on an interface that is up)");
}

}  // namespace verbline::host
