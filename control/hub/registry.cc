// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/registry.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::hub {
namespace {

/// Prefix of assigned MAC addresses: locally administered, and not the 02:00:00:00 of LIDs on a soft fabric.
constexpr std::array mac_prefix{std::byte{0x06}, std::byte{0x76}};

constexpr bool is_ipv4(const InterfaceAddress& address) {
    return link::ipv4_of(address.gid).has_value();
}

/// Address number `host` of a network. There may be no such number; the result then lies outside the network, or is no
/// host's.
InterfaceAddress host_of(const InterfaceAddress& subnet, std::uint32_t host) {
    auto address = subnet;
    const unsigned host_bits = (is_ipv4(subnet) ? 32u : 128u) - subnet.length;
    const auto low = wire::load32(address.gid.bytes, 12);
    const std::uint32_t mask = host_bits >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << host_bits) - 1;
    wire::store32(address.gid.bytes, 12, (low & ~mask) | (host & mask));
    return address;
}

bool exists(const InterfaceAddress& subnet, std::uint32_t host) {
    const unsigned host_bits = (is_ipv4(subnet) ? 32u : 128u) - subnet.length;
    return (host_bits >= 32 || host >> host_bits == 0) && usable(host_of(subnet, host));
}

std::unexpected<Refused> refuse(int code, std::string reason) {
    return std::unexpected(Refused{code, std::move(reason)});
}

}  // namespace

std::vector<InterfaceAddress> default_subnets() {
    return {*link::parse_interface_address("10.99.0.0/16"), *link::parse_interface_address("fd76:6572:b11e::/64")};
}

Registry::Registry(RegistrySetup setup) : setup_(std::move(setup)), ports_(setup_.node.has_value()) {}

Registry::Answer<LaneId> Registry::join(const Join& join, Peer peer) {
    if (auto room = may_join(peer.uid); !room) {
        refusals_.quota_lanes.add();
        return std::unexpected(std::move(room.error()));
    }
    Tenant tenant{.program = join.program,
                  .peer = peer,
                  .mac = join.mac,
                  .addresses = join.addresses,
                  .groups = {},
                  .ports = 0,
                  .takes_direct = join.direct};
    return setup_.node ? join_node(std::move(tenant)) : join_hub(std::move(tenant));
}

Registry::Answer<LaneId> Registry::join_hub(Tenant tenant) {
    if (tenant.addresses.empty()) {
        auto chosen = choose_addresses();
        if (!chosen) return std::unexpected(std::move(chosen.error()));
        tenant.addresses = std::move(*chosen);
    }
    for (const auto& address : tenant.addresses) {
        if (const auto other = holder(address.gid)) {
            return refuse(EADDRINUSE, fmt::format("address {} is in use on hub `{}` by {}; choose another, or end that "
                                                  "program",
                                                  to_string(address), setup_.name, describe(*other)));
        }
    }
    if (tenant.mac == wire::MacAddress{}) tenant.mac = choose_mac(tenant.addresses.front());
    if (const auto other = macs_.find(tenant.mac); other != macs_.end()) {
        return refuse(EADDRINUSE, fmt::format("MAC address {} is in use on hub `{}` by {}; choose another, or none",
                                              to_string(tenant.mac), setup_.name, describe(other->second)));
    }
    std::uint16_t lowest = 0;
    while (tenants_.contains(LaneId{lowest})) ++lowest;
    const LaneId lane{lowest};
    macs_[tenant.mac] = lane;
    for (const auto& address : tenant.addresses) addresses_[address.gid] = lane;
    tenants_.emplace(lane, std::move(tenant));
    return lane;
}

void Registry::leave(LaneId lane) {
    std::erase_if(addresses_, [&](const auto& entry) { return entry.second == lane; });
    std::erase_if(macs_, [&](const auto& entry) { return entry.second == lane; });
    ports_.leave(lane);
    std::erase_if(direct_, [&](const auto& entry) { return entry.second.joins(lane); });
    tenants_.erase(lane);
    if (setup_.node) retired_.insert(lane);
}

/// The same host number in every subnet: 10.99.0.7 and ...::7 are the same program.
Registry::Answer<std::vector<InterfaceAddress>> Registry::choose_addresses() const {
    constexpr std::uint32_t far_enough = 1u << 17;  // addresses that clients may have chosen lie in between
    for (std::uint32_t host = 1; host < far_enough; ++host) {
        std::vector<InterfaceAddress> chosen;
        for (const auto& subnet : setup_.subnets) {
            if (exists(subnet, host)) chosen.push_back(host_of(subnet, host));
        }
        const auto taken = [this](const InterfaceAddress& address) { return holder(address.gid).has_value(); };
        if (chosen.size() == setup_.subnets.size() && std::ranges::none_of(chosen, taken)) return chosen;
    }
    std::vector<std::string> subnets;
    for (const auto& subnet : setup_.subnets) subnets.push_back(to_string(subnet));
    return refuse(ENOSPC, fmt::format("hub `{}` has no free address in {}; choose one outside, or start the hub with a "
                                      "larger --subnet",
                                      setup_.name, fmt::join(subnets, " and ")));
}

/// Made from the address, so that the next program that takes it over is known to the neighbours already.
wire::MacAddress Registry::choose_mac(const InterfaceAddress& address) const {
    for (std::uint32_t low = wire::load32(address.gid.bytes, 12);; ++low) {
        wire::MacAddress mac;
        std::ranges::copy(mac_prefix, mac.bytes.begin());
        wire::store32(mac.bytes, 2, low);
        if (!macs_.contains(mac)) return mac;
    }
}

std::optional<LaneId> Registry::holder(const wire::Gid& address) const {
    const auto found = addresses_.find(address);
    return found == addresses_.end() ? std::nullopt : std::optional(found->second);
}

std::string Registry::who() const {
    return fmt::format("{} `{}`", kind(), setup_.name);
}

std::string Registry::describe(LaneId lane) const {
    const auto& tenant = tenants_.at(lane);
    return fmt::format("{} (process {})", tenant.program.empty() ? "a program" : tenant.program, tenant.peer.pid);
}

}  // namespace verbline::hub
