// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/settings/fabric_port.h"

#include <cerrno>

#include <fmt/format.h>

#include "control/hub/identity.h"
#include "control/loop/loop.h"
#include "control/mad/ibsim.h"

namespace verbline::verbs {
namespace {

constexpr Time activation_limit = 5 * second, look_interval = 10 * millisecond;

}  // namespace

std::optional<InfinibandLink> fabric_of(const Link& link) {
    if (const auto* const port = std::get_if<InfinibandLink>(&link)) return *port;
    const auto* const node = std::get_if<NodeLink>(&link);
    const auto identity = node != nullptr ? hub::read_identity(node->name) : std::nullopt;
    return identity ? identity->fabric : std::nullopt;
}

Result<mad::PortFacts> fabric_port(const InfinibandLink& link) {
    const auto loop = control::Loop::create();
    if (!loop) return std::unexpected(loop.error());
    const auto transport = mad::IbsimTransport::open(link.fabric, link.host, **loop);
    if (!transport) return std::unexpected(transport.error());
    const auto& port = (*transport)->port();
    for (const auto until = (*loop)->now() + activation_limit; !port.active() && (*loop)->now() < until;) {
        (*transport)->refresh();
        const auto wake = (*loop)->after(look_interval, [&] { (*loop)->stop(); });
        (*loop)->run();
    }
    if (port.active()) return port;
    return failure(ENETDOWN,
                   fmt::format("no subnet manager has brought the port up; start opensm on fabric `{}`", link.fabric));
}

Result<mad::PortFacts> fabric_port(const NodeLink& link) {
    const auto port = hub::ask_subnet_port(link.name);
    if (!port) return std::unexpected(port.error());
    if (!*port) return failure(EOPNOTSUPP, fmt::format("the port of node `{}` is on Ethernet", link.name));
    return (*port)->facts;
}

Result<hub::Lane> join_fabric(const InfinibandLink& link, const wire::MacAddress& mac,
                              const std::vector<InterfaceAddress>& addresses) {
    auto lane = hub::join({.hub = link.fabric, .mac = mac, .addresses = addresses, .program = {}});
    if (lane || lane.error().code != EADDRINUSE) return lane;
    return failure(EADDRINUSE, fmt::format("another program has the port of host {0}; choose another host, or end that "
                                           "program (`verbline show {1} hub` names it)",
                                           link.host, link.fabric));
}

}  // namespace verbline::verbs
