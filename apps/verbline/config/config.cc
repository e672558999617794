// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/config/config.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <concepts>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/config/config_file.h"
#include "apps/verbline/config/toml_section.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

PortType read_type(const Section& section) {
    const auto type = section.required_text("type");
    if (type.value == "ethernet") return PortType::ethernet;
    if (type.value == "ipoib") return PortType::ipoib;
    throw Refused{type.line, fmt::format("type {} is neither ethernet nor ipoib", type.value)};
}

void only_for_ipoib(const PortConfig& port, std::string_view key, unsigned line) {
    if (port.type != PortType::ipoib)
        throw Refused{line, fmt::format("{} is for ports of type ipoib; {} is an Ethernet port", key, port.name)};
}

void read_link(const Section& section, PortConfig& port) {
    const auto link = section.text("link");
    if (!link) return;
    only_for_ipoib(port, "link", link->line);
    if (link->value != "infiniband" && link->value != "roce_v2")
        throw Refused{link->line, fmt::format("link {} is neither infiniband nor roce_v2", link->value)};
    port.link = link->value == "roce_v2" ? IpoibLink::roce_v2 : IpoibLink::infiniband;
    port.lines.link = link->line;
}

void read_mode(const Section& section, PortConfig& port) {
    const auto mode = section.text("mode");
    if (!mode) return;
    only_for_ipoib(port, "mode", mode->line);
    if (mode->value != "datagram" && mode->value != "connected")
        throw Refused{mode->line, fmt::format("mode {} is neither datagram nor connected", mode->value)};
    port.connected = mode->value == "connected";
    port.lines.mode = mode->line;
}

void read_infiniband(const Section& section, PortConfig& port) {
    if (auto sm = section.text("sm")) {
        only_for_ipoib(port, "sm", sm->line);
        port.sm = std::move(sm->value), port.lines.sm = sm->line;
    }
    for (auto& device : section.texts("backup_device")) {
        only_for_ipoib(port, "backup_device", device.line);
        port.lines.backup_device = device.line;
        port.backup_devices.push_back(std::move(device.value));
    }
    if (auto sm = section.text("backup_sm")) {
        only_for_ipoib(port, "backup_sm", sm->line);
        port.backup_sm = std::move(sm->value), port.lines.backup_sm = sm->line;
    }
    if (const auto pkey = section.number("pkey", 1, 0xffff)) {
        only_for_ipoib(port, "pkey", pkey->line);
        port.pkey = wire::PKey{static_cast<std::uint16_t>(pkey->value)}, port.lines.pkey = pkey->line;
    }
}

forward::ReversePathFilter read_reverse_path(const Section& section) {
    const auto check = section.text("reverse_path");
    if (!check || check->value == "off") return forward::ReversePathFilter::off;
    if (check->value == "strict") return forward::ReversePathFilter::strict;
    if (check->value == "loose") return forward::ReversePathFilter::loose;
    throw Refused{check->line, fmt::format("reverse_path {} is none of off, strict and loose", check->value)};
}

void read_program(const Section& section, PortConfig& port) {
    if (auto program = section.text("program"))
        port.program = std::move(program->value), port.lines.program = program->line;
    auto chosen = section.text("program_section");
    if (!chosen) return;
    if (port.program.empty())
        throw Refused{chosen->line, fmt::format("program_section of {} needs program = \"...\"", port.name)};
    port.program_section = std::move(chosen->value);
}

std::optional<wire::Gid> read_address(std::string_view text) {
    if (const auto ipv4 = wire::from_string<wire::Ipv4Address>(text)) return link::gid_of(*ipv4);
    const auto ipv6 = wire::from_string<wire::Ipv6Address>(text);
    if (!ipv6 || link::ipv4_of(link::gid_of(*ipv6))) return std::nullopt;  // a mapped one would be taken for IPv4
    return link::gid_of(*ipv6);
}

template <class Address>
void read_servers(const Section& section, std::string_view key, std::vector<Address>& servers, unsigned& line) {
    constexpr std::string_view family = std::same_as<Address, wire::Ipv4Address> ? "IPv4" : "IPv6";
    for (const auto& text : section.texts(key)) {
        const auto server = wire::from_string<Address>(text.value);
        if (!server) throw Refused{text.line, fmt::format("{} {} is no {} address", key, text.value, family)};
        line = text.line;
        servers.push_back(*server);
    }
}

void read_dhcp_servers(const Section& section, PortConfig& port) {
    read_servers(section, "dhcp_relay", port.dhcp_relay, port.lines.dhcp_relay);
    read_servers(section, "dhcpv6_relay", port.dhcpv6_relay, port.lines.dhcpv6_relay);
}

PortConfig read_port(const toml::table& table) {
    const Section section(
        table, "[[port]]",
        {// what it is
         "name", "type", "link", "mode", "device", "vlan", "sm", "backup_device", "backup_sm", "pkey", "mtu",
         // how it routes
         "clamp_mss", "reverse_path", "multicast", "proxy", "address", "virtual_address", "advertise", "dhcp_relay",
         "dhcpv6_relay",
         // for trying and watching
         "impair", "capture", "program", "program_section"});
    PortConfig port{.name = section.required_text("name").value, .type = read_type(section), .lines = {}};
    port.lines.port = section.line();
    for (auto& device : section.texts("device")) {
        port.lines.device = device.line;
        port.devices.push_back(std::move(device.value));
    }
    if (const auto vlan = section.number("vlan", 1, gateway::max_vlan))
        port.vlan = static_cast<std::uint16_t>(vlan->value), port.lines.vlan = vlan->line;
    read_link(section, port);
    read_mode(section, port);
    read_infiniband(section, port);
    const auto mtu = section.number("mtu", 0, 65'535);
    port.mtu = mtu ? static_cast<std::uint32_t>(mtu->value) : usual_mtu(port);
    port.lines.mtu = mtu ? mtu->line : 0;
    if (const auto clamp = section.flag("clamp_mss")) port.clamp_mss = clamp->value;
    port.reverse_path = read_reverse_path(section);
    if (const auto proxy = section.flag("proxy")) port.proxy = proxy->value;
    if (const auto multicast = section.flag("multicast")) port.multicast = multicast->value;
    for (const auto& text : section.texts("address")) {
        const auto address = parse_interface_address(text.value);
        if (!address) throw Refused{text.line, address.error().what};
        port.lines.address = text.line;
        port.addresses.push_back(*address);
    }
    for (const auto& text : section.texts("virtual_address")) {
        const auto address = read_address(text.value);
        if (!address) throw Refused{text.line, fmt::format("{} is no IPv4 or IPv6 address", text.value)};
        port.lines.virtual_address = text.line;
        port.virtual_addresses.push_back(*address);
    }
    if (const auto advertise = section.flag("advertise"))
        port.advertise = advertise->value, port.lines.advertise = advertise->line;
    read_dhcp_servers(section, port);
    if (auto impair = section.text("impair")) port.impair = std::move(impair->value), port.lines.impair = impair->line;
    if (auto capture = section.text("capture"))
        port.capture = std::move(capture->value), port.lines.capture = capture->line;
    read_program(section, port);
    return port;
}

RouteConfig read_route(const toml::table& table) {
    const Section section(table, "[[route]]", {"to", "via", "port"});
    const auto to = section.required_text("to");
    const auto via = section.required_text("via");
    const auto network = link::parse_interface_address(to.value);
    if (!network) throw Refused{to.line, fmt::format("{} is no network such as 10.3.0.0/16 or fd76:3::/64", to.value)};
    if (*network != link::network_of(*network))
        throw Refused{to.line, fmt::format("{} has bits behind the prefix; did you mean {}?", to.value,
                                           to_string(link::network_of(*network)))};
    const auto gateway = read_address(via.value);
    if (!gateway) throw Refused{via.line, fmt::format("{} is no IPv4 or IPv6 address", via.value)};
    const auto port = section.text("port");
    return {.to = *network, .via = *gateway, .port = port ? port->value : "", .line = to.line};
}

gateway::Limits read_limits(const toml::table& table, unsigned& line) {
    const Section section(table, "[limits]", {"routes", "routes_ipv6", "neighbours", "next_hops"});
    constexpr auto least = gateway::smallest_limits, most = gateway::largest_limits;
    gateway::Limits limits;
    line = section.line();
    const auto read = [&]<class T>(std::string_view key, T gateway::Limits::* limit) {
        if (const auto given = section.number(key, least.*limit, most.*limit))
            limits.*limit = static_cast<T>(given->value);
    };
    read("routes", &gateway::Limits::routes), read("routes_ipv6", &gateway::Limits::routes_ipv6);
    read("neighbours", &gateway::Limits::neighbours), read("next_hops", &gateway::Limits::next_hops);
    return limits;
}

GatewayConfig read_gateway(const toml::table& table, const std::string& file) {
    const Section section(table, "the file's top level",
                          {"name", "netns", "dhcpv6_enterprise", "limits", "port", "route"});
    const auto name = section.required_text("name");
    GatewayConfig config{.file = file, .name = name.value, .lines = {.name = name.line}};
    if (auto netns = section.text("netns")) config.netns = std::move(netns->value), config.lines.netns = netns->line;
    if (const auto number = section.number("dhcpv6_enterprise", 1, UINT32_MAX))
        config.dhcpv6_enterprise = static_cast<std::uint32_t>(number->value),
        config.lines.dhcpv6_enterprise = number->line;
    if (const auto* limits = section.table("limits")) config.limits = read_limits(*limits, config.lines.limits);
    for (const auto* port : section.tables("port")) config.ports.push_back(read_port(*port));
    for (const auto* route : section.tables("route")) config.routes.push_back(read_route(*route));
    return config;
}

}  // namespace

Result<link::InterfaceAddress> parse_interface_address(std::string_view text) {
    const auto address = link::parse_interface_address(text);
    if (!address || address->length == 0)
        return failure(EINVAL,
                       fmt::format("{} is no address with prefix length such as 10.1.0.1/24 or fd76:1::1/64", text));
    const bool ipv4 = link::ipv4_of(address->gid).has_value();
    const std::uint8_t whole = ipv4 ? 32 : 128;  // alone on its network, it is neither that nor its broadcast address
    if (!link::usable({address->gid, whole})) return failure(EINVAL, fmt::format("{} is no unicast address", text));
    if (!link::usable(*address))
        return failure(EINVAL,
                       fmt::format("{} is the network itself or its broadcast address, not an interface's", text));
    // RFC 4291, 2.6.1: all routers' of the network; on a link between two routers it may be one's own (RFC 6164).
    if (!ipv4 && address->length < 127 && link::network_of(*address) == *address)
        return failure(EINVAL,
                       fmt::format("{} is the anycast address of the network's routers, not an interface's", text));
    return *address;
}

Result<GatewayConfig> parse_config(std::string_view text, const std::string& file) {
    try {
        const auto table = toml::parse(text);
        auto config = read_gateway(table, file);
        if (auto good = check_config(config); !good) return std::unexpected(good.error());
        return config;
    } catch (const toml::parse_error& error) {
        return std::unexpected(config_error(file, error.source().begin.line, std::string(error.description())));
    } catch (const Refused& refused) {
        return std::unexpected(config_error(file, refused.line, refused.reason));
    }
}

Result<GatewayConfig> load_config(const std::string& file) {
    const auto text = read_config_file(file);
    return text ? parse_config(*text, file) : std::unexpected(text.error());
}

}  // namespace verbline::cli
