// SPDX-License-Identifier: BSD-3-Clause
// Port numbers of lanes: quotas, and the reasons for refusals.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "control/hub/registry.h"
#include "datapath/link/gid_table.h"

namespace verbline::hub {

bool Registry::may_bind(LaneId lane, const PortUse& use) const {
    const auto& tenant = tenants_.at(lane);
    const auto& mac = setup_.node ? setup_.node->mac : tenant.mac;
    return use.any() || use.address == link::link_local_gid(mac) ||
           std::ranges::find(tenant.addresses, use.address, &InterfaceAddress::gid) != tenant.addresses.end();
}

Registry::Answer<std::uint16_t> Registry::reserve(LaneId lane, const Reserve& wanted) {
    auto& tenant = tenants_.at(lane);
    if (auto room = may_reserve(tenant); !room) {
        refusals_.quota_ports.add();
        return std::unexpected(std::move(room.error()));
    }
    const auto port = wanted.port != 0 ? std::optional(wanted.port) : choose_port(wanted.space);
    if (!port) {
        return std::unexpected(Refused{
            EADDRINUSE, fmt::format("all ephemeral ports on {} are in use; end some programs, or name a port", who())});
    }
    if (const auto done = ports_.reserve(lane, {wanted.space, *port}, wanted.use); !done) {
        return std::unexpected(in_use(*port, done.error(), lane));
    }
    ++tenant.ports;
    return *port;
}

Registry::Answer<void> Registry::rebind(LaneId lane, const Rebind& wanted) {
    const auto done = ports_.change(lane, {wanted.space, wanted.port}, wanted.from, wanted.to);
    if (done) return {};
    return std::unexpected(done.error() ? in_use(wanted.port, *done.error(), lane) : not_held(wanted.port));
}

Registry::Answer<void> Registry::release(LaneId lane, const Release& port) {
    if (!ports_.release(lane, {port.space, port.port}, port.use)) return std::unexpected(not_held(port.port));
    --tenants_.at(lane).ports;
    return {};
}

/// Assigns ports round-robin, so that a port just released is not assigned to another program at once.
std::optional<std::uint16_t> Registry::choose_port(std::uint16_t space) {
    for (unsigned tried = first_ephemeral_port; tried <= last_ephemeral_port; ++tried) {
        const auto port = next_ephemeral_;
        next_ephemeral_ = port == last_ephemeral_port ? first_ephemeral_port : static_cast<std::uint16_t>(port + 1);
        if (!ports_.used({space, port})) return port;
    }
    return std::nullopt;
}

Refused Registry::in_use(std::uint16_t port, LaneId holder, LaneId lane) const {
    if (holder == lane) {
        return {EADDRINUSE, fmt::format("port {} is bound by this program already; choose another, or set "
                                        "reuse_address on both ids",
                                        port)};
    }
    return {EADDRINUSE, fmt::format("port {} is in use on {} by {}; choose another, or end that program", port, who(),
                                    describe(holder))};
}

Refused Registry::not_held(std::uint16_t port) const {
    return {ENOENT, fmt::format("port {} is not this program's on {}", port, who())};
}

}  // namespace verbline::hub
