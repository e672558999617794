// SPDX-License-Identifier: BSD-3-Clause
// A node's members: they share the port's addresses, and have numbers of their own.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "control/hub/registry.h"
#include "datapath/link/member.h"

namespace verbline::hub {

/// Numbers are assigned in turn, so that what is under way for a member that has left meets no other one.
Registry::Answer<LaneId> Registry::join_node(Tenant tenant) {
    const auto& own = setup_.node->addresses;
    for (const auto& address : tenant.addresses) {
        if (std::ranges::find(own, address.gid, &InterfaceAddress::gid) != own.end()) continue;
        return std::unexpected(
            Refused{EADDRNOTAVAIL, fmt::format("address {} is none of node `{}`, whose programs have those of its "
                                               "port; leave --ip out",
                                               to_string(address), setup_.name)});
    }
    tenant.addresses = own;
    if (const auto before = link::member_of(tenant.mac)) return admit(*before, std::move(tenant));
    auto& last = setup_.last_member;
    for (std::uint16_t tried = 0; tried < link::last_member; ++tried) {
        last = last >= link::last_member ? 1 : static_cast<std::uint16_t>(last + 1);
        if (!taken(link::MemberId{last})) return admit(link::MemberId{last}, std::move(tenant));
    }
    return std::unexpected(
        Refused{EAGAIN, fmt::format("node `{}` has no number left for a program: those of programs that have just "
                                    "ended become free after some seconds; try again",
                                    setup_.name)});
}

bool Registry::taken(link::MemberId member) const {
    const LaneId lane{static_cast<std::uint16_t>(member)};
    return tenants_.contains(lane) || retired_.contains(lane);
}

Registry::Answer<LaneId> Registry::admit(link::MemberId member, Tenant tenant) {
    const LaneId lane{static_cast<std::uint16_t>(member)};
    if (member == link::node_itself || lane > LaneId{link::last_member} || taken(member)) {
        return std::unexpected(Refused{
            EADDRINUSE, fmt::format("number {} of node `{}` is another program's by now; end this one, and start it "
                                    "again",
                                    static_cast<std::uint16_t>(member), setup_.name)});
    }
    tenant.mac = link::mac_of(member);
    macs_[tenant.mac] = lane;
    tenants_.emplace(lane, std::move(tenant));
    return lane;
}

void Registry::set_addresses(const std::vector<InterfaceAddress>& addresses) {
    setup_.node->addresses = addresses;
    for (auto& [lane, tenant] : tenants_) tenant.addresses = addresses;
}

}  // namespace verbline::hub
