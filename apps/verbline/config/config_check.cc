// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <net/if.h>

#include <fmt/format.h>

#include "apps/verbline/config/config.h"
#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/tables.h"
#include "control/mad/open.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "pmd/factory/device_spec.h"
#include "pmd/impair/spec.h"

namespace verbline::cli {
namespace {

/// An error of the configuration, and its line. As a Verdict: none if the configuration is valid.
struct Fault {
    unsigned line;
    std::string reason;
};
using Verdict = std::optional<Fault>;

bool valid_interface_name(std::string_view name) {
    return valid_instance_name(name) && name.size() < IFNAMSIZ;
}

/// Each link has the link-local network (RFC 4291, 2.5.6).
bool is_link_local(const link::InterfaceAddress& address) {
    return wire::is_link_local(link::ipv6_of(address.gid));
}

bool overlap(const link::InterfaceAddress& a, const link::InterfaceAddress& b) {
    if (is_link_local(a) && is_link_local(b)) return false;
    return contains(a, b.gid) || contains(b, a.gid);
}

Verdict check_mtu(const PortConfig& port) {
    const unsigned line = port.lines.mtu;
    if (port.type == PortType::ethernet && (port.mtu < 68 || port.mtu > 9216))
        return Fault{line, fmt::format("mtu {} of {}: Ethernet ports take 68 to 9216", port.mtu, port.name)};
    // The encapsulation takes 4 bytes of the link's 2048 or 4096 (RFC 4391, 7); which of the two is known at start.
    if (port.type == PortType::ipoib && (port.mtu < 68 || port.mtu > 4092))
        return Fault{line, fmt::format("mtu {} of {}: IPoIB carries at most 2044, or 4092 on a link of MTU 4096",
                                       port.mtu, port.name)};
    const bool ipv6 = std::ranges::any_of(port.addresses, [](const auto& own) { return !link::ipv4_of(own.gid); });
    if (ipv6 && port.mtu < gateway::min_ipv6_mtu)
        return Fault{line != 0 ? line : port.lines.address, fmt::format("mtu {} of {}: its IPv6 addresses need {}",
                                                                        port.mtu, port.name, gateway::min_ipv6_mtu)};
    return {};
}

Verdict check_infiniband(const PortConfig& port) {
    if (port.link == IpoibLink::roce_v2 && !port.sm.empty())
        return Fault{port.lines.sm, fmt::format("{}: a link over RoCE has no subnet manager", port.name)};
    if (port.has_subnet() && port.sm.empty())
        return Fault{port.lines.port,
                     fmt::format("{} needs sm = \"ibsim:FABRIC,host=NODE\" or \"umad:DEVICE\"", port.name)};
    if (const auto sm = mad::parse_spec(port.sm); port.has_subnet() && !sm)
        return Fault{port.lines.sm, sm.error().what};
    if (wire::partition(port.pkey) == 0)
        return Fault{port.lines.pkey, fmt::format("pkey {} of {} names no partition; the default one is 0xffff",
                                                  wire::to_string(port.pkey), port.name)};
    return {};
}

/// `eth:` receives what RDMA needs, and leaves the rest to the kernel (pmd/packet/filter.h).
Verdict check_device(const PortConfig& port, const std::string& device) {
    const auto spec = pmd::parse_device_spec(device);
    if (!spec) return Fault{port.lines.device, spec.error().what};
    const auto* shared = std::get_if<pmd::EthernetSpec>(&*spec);
    if (shared == nullptr || port.type == PortType::ipoib) return {};
    return Fault{port.lines.device,
                 fmt::format("device {} of {}: eth: carries RDMA alone; an Ethernet port has the whole interface by "
                             "dpdk:net_af_packet0,iface={}",
                             device, port.name, shared->interface)};
}

Verdict check_port(const PortConfig& port) {
    const unsigned line = port.lines.port;
    if (!valid_interface_name(port.name))
        return Fault{
            line,
            fmt::format("port name {} cannot be an interface's: at most 15 letters, digits, '.', '_', '-'", port.name)};
    if (port.devices.empty()) return Fault{line, fmt::format("{} needs device = \"...\"", port.name)};
    if (!port.has_subnet() && port.devices.size() != 1)
        return Fault{port.lines.device,
                     fmt::format("{}: {} has one device", port.name,
                                 port.type == PortType::ethernet ? "an Ethernet port" : "a link over RoCE")};
    if (port.devices.size() > gateway::max_devices || port.addresses.size() > gateway::max_addresses)
        return Fault{line, fmt::format("{} has more than {} devices or {} addresses", port.name, gateway::max_devices,
                                       gateway::max_addresses)};
    if (port.has_subnet() && port.vlan)
        return Fault{port.lines.vlan, fmt::format("{}: an InfiniBand link has no VLANs but partitions", port.name)};
    for (const auto& device : port.devices)
        if (auto fault = check_device(port, device)) return fault;
    if (port.type == PortType::ipoib)
        if (auto fault = check_infiniband(port)) return fault;
    if (const auto impair = pmd::parse_impairments(port.impair); !port.impair.empty() && !impair)
        return Fault{port.lines.impair, fmt::format("impair of {}: {}", port.name, impair.error().what)};
    return check_mtu(port);
}

/// Whether two ports are different VLANs of one device, or one of them has its untagged frames.
bool share_by_vlan(const PortConfig& a, const PortConfig& b) {
    return !a.has_subnet() && !b.has_subnet() && a.vlan != b.vlan;
}

/// A device belongs to one port, once, or to one port for each VLAN.
Verdict check_devices(const std::vector<PortConfig>& ports) {
    std::vector<std::pair<std::string_view, const PortConfig*>> seen;
    for (const auto& port : ports)
        for (const auto& device : port.devices) {
            for (const auto& [name, other] : seen) {
                if (name != device || (other != &port && share_by_vlan(*other, port))) continue;
                if (other != &port && port.vlan)
                    return Fault{port.lines.vlan,
                                 fmt::format("VLAN {} of device {} is {}'s already", *port.vlan, device, other->name)};
                return Fault{port.lines.device, fmt::format("device {} is used twice", device)};
            }
            seen.emplace_back(device, &port);
        }
    return {};
}

Verdict check_pair(const PortConfig& earlier, const PortConfig& later) {
    if (earlier.name == later.name)
        return Fault{later.lines.port,
                     fmt::format("two ports are called {}; the other is on line {}", later.name, earlier.lines.port)};
    for (const auto& a : earlier.addresses)
        for (const auto& b : later.addresses)
            if (overlap(a, b))
                return Fault{later.lines.address, fmt::format("{} of {} overlaps {} of {}", to_string(b), later.name,
                                                              to_string(a), earlier.name)};
    return {};
}

Verdict check_route(const GatewayConfig& config, std::size_t index) {
    const auto& route = config.routes[index];
    const auto text = wire::to_string(route.to);
    const auto via = link::gid_of(route.via);
    const link::InterfaceAddress to{link::gid_of(route.to.address), route.to.length};
    bool reachable = false;
    for (const auto& port : config.ports)
        for (const auto& own : port.addresses) {
            if (own.gid == via) return Fault{route.line, fmt::format("route to {}: via is our own address", text)};
            if (link::network_of(own) == to)
                return Fault{route.line, fmt::format("route to {}: that network is {}'s own", text, port.name)};
            reachable = reachable || contains(own, via);
        }
    if (!reachable)
        return Fault{route.line,
                     fmt::format("route to {}: {} is on no port's network", text, wire::to_string(route.via))};
    for (std::size_t i = 0; i < index; ++i)
        if (config.routes[i].to == route.to)
            return Fault{route.line,
                         fmt::format("a second route to {}; the other is on line {}", text, config.routes[i].line)};
    return {};
}

Verdict check_all(const GatewayConfig& config) {
    if (!valid_instance_name(config.name) || is_table(config.name) || config.name == "all")
        return Fault{config.lines.name,
                     fmt::format("name {} cannot be an instance's: at most 64 letters, digits, '.', '_', '-', "
                                 "and no table of verbline show",
                                 config.name)};
    if (!config.netns.empty() && !valid_instance_name(config.netns))
        return Fault{config.lines.netns, fmt::format("netns {} cannot be a network namespace's name", config.netns)};
    if (config.ports.empty()) return Fault{config.lines.name, "there is no [[port]]"};
    if (config.ports.size() > gateway::max_ports || config.routes.size() > gateway::max_routes)
        return Fault{config.lines.name,
                     fmt::format("more than {} ports or {} routes", gateway::max_ports, gateway::max_routes)};
    for (const auto& port : config.ports)
        if (auto fault = check_port(port)) return fault;
    for (std::size_t later = 1; later < config.ports.size(); ++later)
        for (std::size_t earlier = 0; earlier < later; ++earlier)
            if (auto fault = check_pair(config.ports[earlier], config.ports[later])) return fault;
    if (auto fault = check_devices(config.ports)) return fault;
    for (std::size_t i = 0; i < config.routes.size(); ++i)
        if (auto fault = check_route(config, i)) return fault;
    return {};
}

}  // namespace

Result<void> check_config(const GatewayConfig& config) {
    if (const auto fault = check_all(config))
        return std::unexpected(config_error(config.file, fault->line, fault->reason));
    return {};
}

}  // namespace verbline::cli
