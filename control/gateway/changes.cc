// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/changes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace verbline::gateway {
namespace {

/// A setting that differs; `line` of the wanted configuration.
struct Difference {
    std::string setting;
    unsigned line;
};
using Differences = std::vector<Difference>;

/// Of settings that a port has for as long as it runs.
Differences differences(const PortConfig& a, const PortConfig& b) {
    const auto& lines = b.lines;
    const std::array<std::tuple<std::string_view, bool, unsigned>, 10> settings{{
        {"type", a.type == b.type, lines.port},
        {"link", a.link == b.link, lines.link},
        {"device", a.devices == b.devices, lines.device},
        {"vlan", a.vlan == b.vlan, lines.vlan},
        {"sm", a.sm == b.sm, lines.sm},
        {"backup_device", a.backup_devices == b.backup_devices, lines.backup_device},
        {"backup_sm", a.backup_sm == b.backup_sm, lines.backup_sm},
        {"pkey", a.pkey == b.pkey, lines.pkey},
        {"mtu", a.mtu == b.mtu, lines.mtu},
        {"mode", a.connected == b.connected, b.lines.mode},
    }};
    Differences out;
    for (const auto& [name, same, line] : settings)
        if (!same) out.push_back({fmt::format("{} of port {}", name, b.name), line != 0 ? line : lines.port});
    return out;
}

/// Of settings that it can be told otherwise.
std::vector<Setting> changed_settings(const PortConfig& a, const PortConfig& b) {
    std::vector<Setting> out;
    const auto compare = [&out](Setting setting, const auto& before, const auto& after) {
        if (before != after) out.push_back(setting);
    };
    compare(Setting::clamp_mss, a.clamp_mss, b.clamp_mss);
    compare(Setting::reverse_path, a.reverse_path, b.reverse_path);
    compare(Setting::proxy, a.proxy, b.proxy);
    compare(Setting::multicast, a.multicast, b.multicast);
    compare(Setting::virtual_address, a.virtual_addresses, b.virtual_addresses);
    compare(Setting::advertise, a.advertise, b.advertise);
    compare(Setting::dhcp_relay, a.dhcp_relay, b.dhcp_relay);
    compare(Setting::dhcpv6_relay, a.dhcpv6_relay, b.dhcpv6_relay);
    compare(Setting::impair, a.impair, b.impair);
    compare(Setting::capture, a.capture, b.capture);
    return out;
}

Differences differences(const Limits& a, const Limits& b, unsigned line) {
    Differences out;
    const auto compare = [&](std::string_view name, auto before, auto after) {
        if (before != after) out.push_back({fmt::format("{} of [limits] (allocated at the start)", name), line});
    };
    compare("routes", a.routes, b.routes);
    compare("routes_ipv6", a.routes_ipv6, b.routes_ipv6);
    compare("neighbours", a.neighbours, b.neighbours);
    compare("next_hops", a.next_hops, b.next_hops);
    return out;
}

/// All that differs and is set when a gateway starts.
Differences fixed_differences(const GatewayConfig& running, const GatewayConfig& wanted) {
    Differences out;
    const auto add = [&out](Differences more) { out.insert(out.end(), more.begin(), more.end()); };
    if (running.name != wanted.name) out.push_back({"name", wanted.lines.name});
    if (running.netns != wanted.netns) out.push_back({"netns", wanted.lines.netns});
    if (running.dhcpv6_enterprise != wanted.dhcpv6_enterprise)
        out.push_back({"dhcpv6_enterprise", wanted.lines.dhcpv6_enterprise});
    const auto& lines = wanted.lines;
    add(differences(running.limits, wanted.limits, lines.limits != 0 ? lines.limits : lines.name));
    for (const auto& port : wanted.ports) {
        const auto* const before = find_port(running, port.name);
        if (before == nullptr)
            out.push_back({fmt::format("port {}, which is new", port.name), port.lines.port});
        else
            add(differences(*before, port));
    }
    for (const auto& port : running.ports)
        if (find_port(wanted, port.name) == nullptr)
            out.push_back({fmt::format("port {}, which is gone", port.name), wanted.lines.name});
    return out;
}

/// By network: of several to one, the kernel has had the last.
std::map<link::InterfaceAddress, const RouteConfig*> by_network(const std::vector<RouteConfig>& routes) {
    std::map<link::InterfaceAddress, const RouteConfig*> out;
    for (const auto& route : routes) out[link::network_of(route.to)] = &route;
    return out;
}

void add_route_changes(const GatewayConfig& running, const GatewayConfig& wanted, Changes& changes) {
    const auto before = by_network(running.routes), after = by_network(wanted.routes);
    for (const auto& [network, route] : after) {
        const auto old = before.find(network);
        if (old == before.end())
            changes.routes.push_back({nullptr, route});
        else if (old->second->via != route->via || old->second->port != route->port)
            changes.routes.push_back({old->second, route});
    }
    for (const auto& [network, route] : before)
        if (!after.contains(network)) changes.routes.push_back({route, nullptr});
}

std::string counted(std::size_t count, std::string_view one, std::string_view many, std::string_view what) {
    return fmt::format("{} {} {}", count, count == 1 ? one : many, what);
}

}  // namespace

Result<Changes> changes_between(const GatewayConfig& running, const GatewayConfig& wanted) {
    const auto fixed = fixed_differences(running, wanted);
    if (!fixed.empty()) {
        std::string names;
        for (const auto& [setting, line] : fixed) names += fmt::format("{}{}", names.empty() ? "" : ", ", setting);
        auto error = config_error(
            wanted.file, fixed.front().line,
            fmt::format("while it runs, {} cannot change: nothing of the file is used until it is restarted", names));
        error.code = EBUSY;
        return std::unexpected(std::move(error));
    }
    Changes changes;
    for (std::size_t i = 0; i < running.ports.size(); ++i) {
        const auto& port = *find_port(wanted, running.ports[i].name);
        const auto& before = running.ports[i].addresses;
        const auto& after = port.addresses;
        for (const auto& address : after)
            if (std::ranges::find(before, address) == before.end()) changes.added.push_back({i, address});
        for (const auto& address : before)
            if (std::ranges::find(after, address) == after.end()) changes.removed.push_back({i, address});
        if (running.ports[i].program != port.program || running.ports[i].program_section != port.program_section)
            changes.programs.push_back(i);
        for (const auto setting : changed_settings(running.ports[i], port)) changes.settings.push_back({i, setting});
    }
    add_route_changes(running, wanted, changes);
    return changes;
}

std::string_view to_string(Setting setting) {
    switch (setting) {
        case Setting::clamp_mss: return "clamp_mss";
        case Setting::reverse_path: return "reverse_path";
        case Setting::proxy: return "proxy";
        case Setting::multicast: return "multicast";
        case Setting::virtual_address: return "virtual_address";
        case Setting::advertise: return "advertise";
        case Setting::dhcp_relay: return "dhcp_relay";
        case Setting::dhcpv6_relay: return "dhcpv6_relay";
        case Setting::impair: return "impair";
        case Setting::capture: return "capture";
    }
    return "";
}

std::string to_string(const Changes& changes, const GatewayConfig& running) {
    std::size_t added = 0, changed = 0, removed = 0;
    for (const auto& [before, after] : changes.routes)
        ++(before == nullptr ? added : after == nullptr ? removed : changed);
    std::string out;
    const auto add = [&out](std::size_t count, std::string_view one, std::string_view many, std::string_view what) {
        if (count != 0) out += (out.empty() ? "" : ", ") + counted(count, one, many, what);
    };
    add(changes.added.size(), "address", "addresses", "added");
    add(changes.removed.size(), "address", "addresses", "removed");
    add(added, "route", "routes", "added");
    add(changed, "route", "routes", "changed");
    add(removed, "route", "routes", "removed");
    add(changes.programs.size(), "program", "programs", "changed");
    for (const auto& [port, setting] : changes.settings)
        out += fmt::format("{}{} of port {} changed", out.empty() ? "" : ", ", to_string(setting),
                           running.ports[port].name);
    return out.empty() ? "nothing to change" : out;
}

void adopt(GatewayConfig& running, const GatewayConfig& wanted) {
    for (auto& port : running.ports) {
        const auto& after = *find_port(wanted, port.name);
        port.addresses = after.addresses;
        port.program = after.program;
        port.program_section = after.program_section;
        port.clamp_mss = after.clamp_mss;
        port.reverse_path = after.reverse_path;
        port.proxy = after.proxy;
        port.multicast = after.multicast;
        port.virtual_addresses = after.virtual_addresses;
        port.advertise = after.advertise;
        port.dhcp_relay = after.dhcp_relay;
        port.dhcpv6_relay = after.dhcpv6_relay;
        port.impair = after.impair;
        port.capture = after.capture;
        port.lines = after.lines;
    }
    running.routes = wanted.routes;
    running.lines = wanted.lines;
}

}  // namespace verbline::gateway
