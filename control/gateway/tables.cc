// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/tables.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "control/gateway/link_devices.h"
#include "control/gateway/multicast_tables.h"
#include "control/gateway/program_tables.h"
#include "control/gateway/shard_tables.h"
#include "control/telemetry/path_tables.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/text.h"

namespace verbline::gateway {
namespace {

using telemetry::Json;

std::string seconds(Time t) {
    return fmt::format("{:.1f}", static_cast<double>(t) / second);
}
std::string hex(auto number) {
    return fmt::format("{:#x}", static_cast<std::uint64_t>(number));
}

std::string addresses_of(const router::ControlPort& port) {
    std::string text;
    for (const auto& address : port.addresses()) text += (text.empty() ? "" : " ") + to_string(address);
    return text;
}

Json port_row(const View& gateway, const GatewayPort& port) {
    const auto* const parent = parent_of(gateway.config, port.config());
    Json row{{"port", port.name()},
             {"type", "ethernet"},
             {"state", port.up() ? "up" : "down"},
             {"addresses", addresses_of(port.port())},
             {"mtu", port.config().mtu},
             {"link_address", ""},
             {"lid", ""},
             {"sm_lid", ""},
             {"pkey", ""},
             {"device", port.config().devices.front()},
             {"active", port.active()},
             {"vlan", port.config().vlan ? Json(*port.config().vlan) : Json("")},
             {"parent", parent != nullptr ? parent->name : ""},
             {"trouble", port.port().conflicts()}};
    if (auto* ethernet = port.ethernet()) row["link_address"] = to_string(ethernet->mac());
    if (auto* roce = port.roce()) {
        const auto& identity = roce->identity();
        row["type"] = "ipoib";
        row["link_address"] = fmt::format("qpn {} gid {}", hex(identity.qpn), to_string(identity.port.gid));
        row["pkey"] = to_string(identity.pkey);
    }
    if (auto* ipoib = port.ipoib()) {
        const auto& facts = ipoib->agent().port();
        row["type"] = "ipoib";
        row["link_address"] = fmt::format("qpn {} gid {}", hex(ipoib->link().qpn), to_string(facts.gid()));
        row["lid"] = to_string(facts.lid);
        row["sm_lid"] = to_string(facts.sm_lid);
        row["pkey"] = to_string(ipoib->up() ? ipoib->identity().pkey : ipoib->link().pkey);
        const auto trouble = ipoib->agent().sm_answering() ? ipoib->trouble() : "the subnet manager does not answer";
        if (!trouble.empty()) row["trouble"] = trouble;
    }
    return row;
}

Json ports(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.ports) rows.push_back(port_row(gateway, *port));
    return rows;
}

Json neighbours(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.ports) {
        for (const auto& [address, link, state, age] : port->port().neighbours()) {
            rows.push_back({{"port", port->name()},
                            {"address", link::address_text(address)},
                            {"link_address", neighbour::to_string(link)},
                            {"state", std::string(to_string(state))},
                            {"age_s", seconds(age)}});
        }
    }
    return rows;
}

Json connections(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.ports) {
        if (port->ipoib() == nullptr || port->ipoib()->connector() == nullptr) continue;
        for (const auto& each : port->ipoib()->connector()->show()) {
            rows.push_back({{"port", port->name()},
                            {"neighbour", to_string(each.neighbour.gid)},
                            {"qpn", hex(each.neighbour.qpn)},
                            {"direction", each.outgoing ? "out" : "in"},
                            {"state", each.state},
                            {"mtu", each.mtu == 0 ? Json("") : Json(each.mtu)},
                            {"tx_packets", each.outgoing ? Json(each.packets) : Json("")}});
        }
    }
    return rows;
}

Json paths(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.ports) {
        if (port->ipoib() == nullptr) continue;
        telemetry::add_path_rows(rows, port->name(), port->ipoib()->agent().paths().cache(), gateway.now,
                                 [&](wire::PKey pkey) { return port->ipoib()->in_partition(pkey); });
    }
    return rows;
}

Json path_cache(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.ports) {
        if (port->ipoib() == nullptr || !port->first_of_subnet()) continue;
        rows.push_back(telemetry::path_cache_row(port->name(), port->ipoib()->agent().paths().cache()));
    }
    return rows;
}

std::string_view text(forward::NextHopKind kind) {
    switch (kind) {
        case forward::NextHopKind::unreachable: return "unreachable";
        case forward::NextHopKind::blackhole: return "blackhole";
        case forward::NextHopKind::local: return "local";
        case forward::NextHopKind::on_link: return "on-link";
        case forward::NextHopKind::via: return "via";
    }
    return "";
}

std::string text(const View& gateway, wire::Ipv4Address via) {
    const auto ipv6 = gateway.ipv6_gateways.gateway_of(via);
    return ipv6 ? to_string(*ipv6) : to_string(via);
}
std::string text(const View&, const wire::Ipv6Address& via) {
    return to_string(via);
}

template <class Fib>
void add_routes(const View& gateway, const Fib& fib, Json& rows) {
    for (const auto& [prefix, next_hops] : fib.routes()) {
        for (const auto& [hop, weight] : next_hops.members()) {
            rows.push_back(
                {{"prefix", to_string(prefix)},
                 {"kind", std::string(text(hop.kind))},
                 {"via", hop.kind == forward::NextHopKind::via ? text(gateway, hop.gateway) : ""},
                 {"port", leads_out(hop.kind) ? gateway.ports[static_cast<std::size_t>(hop.interface)]->name() : ""},
                 {"weight", weight}});
        }
    }
}

Json routes(const View& gateway) {
    auto rows = Json::array();
    add_routes(gateway, gateway.fib, rows);
    add_routes(gateway, gateway.ipv6_fib, rows);
    return rows;
}

}  // namespace

std::vector<telemetry::Table> tables(std::function<View()> view) {
    const auto table = [&](std::string name, std::string help, Json (*rows)(const View&)) {
        return telemetry::Table{std::move(name), std::move(help), [view, rows] { return rows(view()); }};
    };
    return {table("ports", "Ports: state, addresses, LIDs. No parameters", ports),
            table("neighbours", "Neighbours: IP and link-layer address, state. No parameters", neighbours),
            table("connections", "Connections of IPoIB's connected mode, each of one direction. No parameters",
                  connections),
            table("paths", "Paths in the local cache. No parameters", paths),
            table("path_cache", "How well the local path cache does. No parameters", path_cache),
            table("multicast",
                  "Multicast groups: who listens, by which protocol, and memberships at the subnet administrator. No "
                  "parameters",
                  multicast),
            table("routes", "The forwarding table: a row for each next hop. No parameters", routes),
            table("programs", "Packet programs of the ports. No parameters", programs),
            table("program_counters", "Counters of packet programs that are not zero. No parameters", program_counters),
            table("program_prefixes", "Prefixes of packet programs. No parameters", program_prefixes),
            table("queues", "Queues: packets, bytes, drops. No parameters", queues),
            table("shards", "Shards: how busy each lcore is, and what it handed to others. No parameters", shards),
            table("counters", "Every counter. No parameters", counters)};
}

}  // namespace verbline::gateway
