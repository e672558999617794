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
#include "apps/verbline/config/config_sharing.h"
#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/tables.h"
#include "control/mad/open.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "pmd/factory/device_spec.h"
#include "pmd/impair/spec.h"

namespace verbline::cli {
namespace {

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

/// Of proxies, one subnet that is on both links.
bool same_network(const link::InterfaceAddress& a, const link::InterfaceAddress& b) {
    return link::network_of(a) == link::network_of(b);
}

Verdict check_mtu(const PortConfig& port) {
    const unsigned line = port.lines.mtu;
    if (port.type == PortType::ethernet && (port.mtu < 68 || port.mtu > 9216))
        return Fault{line, fmt::format("mtu {} of {}: Ethernet ports take 68 to 9216", port.mtu, port.name)};
    if (port.connected && !port.has_subnet())
        return Fault{port.lines.mode, fmt::format("mode of {}: connected mode needs InfiniBand", port.name)};
    if (port.connected && (port.mtu < gateway::least_connected_mtu || port.mtu > gateway::most_connected_mtu))
        return Fault{line, fmt::format("mtu {} of {}: connected mode carries {} to {}", port.mtu, port.name,
                                       gateway::least_connected_mtu, gateway::most_connected_mtu)};
    // The encapsulation takes 4 bytes of the link's 2048 or 4096 (RFC 4391, 7); which of the two is known at start.
    if (port.type == PortType::ipoib && !port.connected && (port.mtu < 68 || port.mtu > 4092))
        return Fault{line, fmt::format("mtu {} of {}: IPoIB carries at most 2044, or 4092 on a link of MTU 4096",
                                       port.mtu, port.name)};
    const bool ipv6 = std::ranges::any_of(port.addresses, [](const auto& own) { return !link::ipv4_of(own.gid); });
    if (port.advertise && port.mtu < gateway::min_ipv6_mtu)
        return Fault{port.lines.advertise, fmt::format("advertise of {}: IPv6 needs an mtu of {}, and it is {}",
                                                       port.name, gateway::min_ipv6_mtu, port.mtu)};
    if (!port.dhcpv6_relay.empty() && port.mtu < gateway::min_ipv6_mtu)
        return Fault{port.lines.dhcpv6_relay, fmt::format("dhcpv6_relay of {}: IPv6 needs an mtu of {}, and it is {}",
                                                          port.name, gateway::min_ipv6_mtu, port.mtu)};
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

/// An adapter is one port of one subnet, by whose own MADs its subnet manager is reached.
Verdict check_adapter(const PortConfig& port, const std::string& device, const pmd::HcaSpec& spec) {
    if (port.type != PortType::ipoib)
        return Fault{port.lines.device,
                     fmt::format("device {} of {}: hca: carries IPoIB alone; an Ethernet port has the adapter's "
                                 "interface by dpdk:",
                                 device, port.name)};
    if (port.devices.size() != 1)
        return Fault{port.lines.device, fmt::format("device {} of {}: an adapter's port is joined with no other device",
                                                    device, port.name)};
    if (!port.has_subnet()) {
        if (!port.vlan) return {};
        return Fault{port.lines.vlan, fmt::format("device {} of {}: hca: has no VLANs", device, port.name)};
    }
    const auto sm = mad::parse_spec(port.sm);
    const auto wanted = mad::UmadSpec{.device = spec.device, .port = spec.port};
    if (!sm || *sm == mad::Spec(wanted)) return {};  // the former is said elsewhere
    return Fault{port.lines.sm, fmt::format("sm {} of {} is not that of its device: say umad:{},port={}", port.sm,
                                            port.name, spec.device, spec.port)};
}

/// `eth:` receives what RDMA needs, and leaves the rest to the kernel (pmd/packet/filter.h).
Verdict check_device(const PortConfig& port, const std::string& device) {
    const auto spec = pmd::parse_device_spec(device);
    if (!spec) return Fault{port.lines.device, spec.error().what};
    if (const auto* adapter = std::get_if<pmd::HcaSpec>(&*spec)) return check_adapter(port, device, *adapter);
    const auto* shared = std::get_if<pmd::EthernetSpec>(&*spec);
    if (shared == nullptr || port.type == PortType::ipoib) return {};
    return Fault{port.lines.device,
                 fmt::format("device {} of {}: eth: carries RDMA alone; an Ethernet port has the whole interface by "
                             "dpdk:net_af_packet0,iface={}",
                             device, port.name, shared->interface)};
}

/// What two gateways share is of neither's own.
Verdict check_virtual_addresses(const PortConfig& port) {
    for (const auto& own : port.addresses)
        if (std::ranges::find(port.virtual_addresses, own.gid) != port.virtual_addresses.end())
            return Fault{port.lines.virtual_address,
                         fmt::format("{} of {} is an address of this gateway alone: a virtual one is set by keepalived",
                                     to_string(own), port.name)};
    if (port.virtual_addresses.size() > gateway::max_addresses)
        return Fault{port.lines.virtual_address,
                     fmt::format("{} has more than {} virtual addresses", port.name, gateway::max_addresses)};
    return {};
}

/// Each is a host, which is reached by the routes.
template <class Address>
Verdict check_dhcp_servers(const PortConfig& port, std::string_view key, const std::vector<Address>& servers,
                           unsigned line) {
    for (auto server = servers.begin(); server != servers.end(); ++server) {
        const auto gid = link::gid_of(*server);
        const std::uint8_t whole = link::ipv4_of(gid) ? 32 : 128;
        if (!link::usable({gid, whole}) || wire::is_link_local(link::ipv6_of(gid)))
            return Fault{line, fmt::format("{} of {}: {} is no address of a server that routes lead to", key, port.name,
                                           wire::to_string(*server))};
        if (std::find(servers.begin(), server, *server) != server)
            return Fault{line, fmt::format("{} of {} has {} twice", key, port.name, wire::to_string(*server))};
    }
    if (servers.size() > gateway::max_dhcp_servers)
        return Fault{line, fmt::format("{} of {} has more than {} servers", key, port.name, gateway::max_dhcp_servers)};
    return {};
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
    if (auto fault = check_backup(port)) return fault;
    if (const auto impair = pmd::parse_impairments(port.impair); !port.impair.empty() && !impair)
        return Fault{port.lines.impair, fmt::format("impair of {}: {}", port.name, impair.error().what)};
    if (auto fault = check_virtual_addresses(port)) return fault;
    if (auto fault = check_dhcp_servers(port, "dhcp_relay", port.dhcp_relay, port.lines.dhcp_relay)) return fault;
    if (auto fault = check_dhcp_servers(port, "dhcpv6_relay", port.dhcpv6_relay, port.lines.dhcpv6_relay)) return fault;
    return check_mtu(port);
}

Verdict check_pair(const PortConfig& earlier, const PortConfig& later) {
    if (auto fault = check_subnets(earlier, later)) return fault;
    if (earlier.name == later.name)
        return Fault{later.lines.port,
                     fmt::format("two ports are called {}; the other is on line {}", later.name, earlier.lines.port)};
    if (!later.capture.empty() && later.capture == earlier.capture)
        return Fault{later.lines.capture, fmt::format("capture of {} is that of {}: each needs a file of its own",
                                                      later.name, earlier.name)};
    for (const auto& a : earlier.addresses)
        for (const auto& b : later.addresses)
            if (overlap(a, b) && !(earlier.proxy && later.proxy && same_network(a, b)))
                return Fault{later.lines.address, fmt::format("{} of {} overlaps {} of {}", to_string(b), later.name,
                                                              to_string(a), earlier.name)};
    return {};
}

/// The gateway must be on a network of one of our ports; of a link-local one, the configuration says which port's.
Verdict check_gateway(const GatewayConfig& config, const RouteConfig& route) {
    const auto fault = [&](std::string_view reason) {
        return Fault{route.line, fmt::format("route to {}: {}", to_string(route.to), reason)};
    };
    const auto via = link::address_text(route.via);
    const bool link_local = wire::is_link_local(link::ipv6_of(route.via));
    if (!link::ipv4_of(route.to.gid) && link::ipv4_of(route.via))
        return fault(fmt::format("an IPv6 network has no IPv4 gateway, as {} is", via));
    if (link_local && route.port.empty())
        return fault(fmt::format("{} is on every link; add port = \"...\" to say on which", via));
    bool found = route.port.empty(), reachable = false;
    for (const auto& port : config.ports) {
        if (!route.port.empty() && port.name != route.port) continue;
        found = true;
        reachable |= link_local ||
                     std::ranges::any_of(port.addresses, [&](const auto& own) { return contains(own, route.via); });
    }
    if (!found) return fault(fmt::format("there is no port {}", route.port));
    if (!reachable)
        return fault(fmt::format("{} is on no network of {}", via, route.port.empty() ? "any port" : route.port));
    return {};
}

Verdict check_route(const GatewayConfig& config, std::size_t index) {
    const auto& route = config.routes[index];
    const auto text = to_string(route.to);
    for (const auto& port : config.ports)
        for (const auto& own : port.addresses) {
            if (own.gid == route.via)
                return Fault{route.line, fmt::format("route to {}: via is our own address", text)};
            if (link::network_of(own) == route.to)
                return Fault{route.line, fmt::format("route to {}: that network is {}'s own", text, port.name)};
        }
    if (auto fault = check_gateway(config, route)) return fault;
    for (std::size_t i = 0; i < index; ++i)
        if (config.routes[i].to == route.to)
            return Fault{route.line,
                         fmt::format("a second route to {}; the other is on line {}", text, config.routes[i].line)};
    return {};
}

/// The kernel's own routes, those of addresses, need room as well; they come first.
Verdict check_number_of_routes(const GatewayConfig& config) {
    std::size_t ipv4 = 0, ipv6 = 0;
    for (const auto& route : config.routes) {
        const bool is_ipv4 = link::ipv4_of(route.to.gid).has_value();
        const auto number = is_ipv4 ? ++ipv4 : ++ipv6;
        const auto limit = is_ipv4 ? config.limits.routes : config.limits.routes_ipv6;
        if (number > limit)
            return Fault{route.line,
                         fmt::format("more than {} {} routes: raise {} in [limits], to {} at most", limit,
                                     is_ipv4 ? "IPv4" : "IPv6", is_ipv4 ? "routes" : "routes_ipv6",
                                     is_ipv4 ? gateway::largest_limits.routes : gateway::largest_limits.routes_ipv6)};
    }
    return {};
}

/// A relay that is its own server would get back what it has sent.
template <class Address>
Verdict check_dhcp_loop(const GatewayConfig& config, const PortConfig& relaying, std::string_view key,
                        const std::vector<Address>& servers, unsigned line) {
    for (const auto& server : servers)
        for (const auto& port : config.ports)
            for (const auto& own : port.addresses)
                if (own.gid == link::gid_of(server))
                    return Fault{line, fmt::format("{} of {}: {} is an address of {}, not another host's", key,
                                                   relaying.name, wire::to_string(server), port.name)};
    return {};
}

Verdict check_dhcp_loops(const GatewayConfig& config) {
    for (const auto& port : config.ports) {
        const auto& lines = port.lines;
        if (auto fault = check_dhcp_loop(config, port, "dhcp_relay", port.dhcp_relay, lines.dhcp_relay)) return fault;
        if (auto fault = check_dhcp_loop(config, port, "dhcpv6_relay", port.dhcpv6_relay, lines.dhcpv6_relay))
            return fault;
    }
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
    if (config.ports.size() > gateway::max_ports)
        return Fault{config.lines.name, fmt::format("more than {} ports", gateway::max_ports)};
    if (auto fault = check_number_of_routes(config)) return fault;
    for (const auto& port : config.ports)
        if (auto fault = check_port(port)) return fault;
    for (std::size_t later = 1; later < config.ports.size(); ++later)
        for (std::size_t earlier = 0; earlier < later; ++earlier)
            if (auto fault = check_pair(config.ports[earlier], config.ports[later])) return fault;
    if (auto fault = check_devices(config.ports)) return fault;
    if (auto fault = check_backups(config.ports)) return fault;
    if (auto fault = check_dhcp_loops(config)) return fault;
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
