// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub/hub_tables.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/output/table.h"
#include "control/telemetry/counters.h"
#include "control/telemetry/path_tables.h"
#include "control/telemetry/shard_table.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

constexpr auto removed_ports = "removed ports";  ///< the owner of the counters of removed lanes

std::string lane_name(hub::LaneId lane) {
    return fmt::format("lane-{}", static_cast<unsigned>(lane));
}

/// Packets and bytes as they are, drops of each direction as one.
void add_traffic(Json& row, const auto& counters) {
    std::map<std::string, std::uint64_t, std::less<>> sums;
    counters.each([&](std::string_view name, std::uint64_t value, std::string_view) {
        sums[std::string(name.starts_with("rx_dropped")   ? "rx_dropped"
                         : name.starts_with("tx_dropped") ? "tx_dropped"
                                                          : name)] += value;
    });
    for (const auto* column : {"rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes", "tx_dropped"}) {
        row[column] = sums[column];
    }
}

Json lane_row(const HubView& hub, hub::LaneId lane, pmd::Switch::PortId port) {
    const auto& tenant = hub.registry.tenant(lane);
    std::vector<std::string> addresses, groups;
    for (const auto& address : tenant.addresses) addresses.push_back(to_string(address));
    for (const auto& group : tenant.groups) groups.push_back(wire::to_string(group));
    Json row{{"port", lane_name(lane)},
             {"program", tenant.program},
             {"pid", tenant.peer.pid},
             {"link", hub.fabric.link_up(port) ? "up" : "down"},
             {"mac", wire::to_string(tenant.mac)},
             {"addresses", fmt::format("{}", fmt::join(addresses, " "))}};
    add_traffic(row, hub.fabric.counters(port));
    row["direct"] = hub.registry.direct_links(lane);
    row["groups"] = fmt::format("{}", fmt::join(groups, " "));
    return row;
}

/// A row of a port that is not a lane.
Json other_row(std::string_view port, std::string_view device, std::string_view link, const auto& counters,
               std::string_view groups) {
    Json row{{"port", port}, {"program", device}, {"pid", ""}, {"link", link}, {"mac", ""}, {"addresses", ""}};
    add_traffic(row, counters);
    row["direct"] = "";
    row["groups"] = groups;
    return row;
}

Json ports(const HubView& hub) {
    auto rows = Json::array();
    for (const auto& [device, port] : hub.uplinks) {
        const auto* const link = hub.fabric.link_up(port) ? "up" : "down";
        rows.push_back(other_row("uplink", device, link, hub.fabric.counters(port), "all"));
    }
    for (const auto& [lane, port] : hub.lanes) rows.push_back(lane_row(hub, lane, port));
    if (hub.fabric.counters().removed_ports.value() > 0) {
        rows.push_back(other_row(removed_ports, "", "", hub.fabric.removed_ports(), ""));
    }
    return rows;
}

/// Ports that a shard polls add to its totals.
telemetry::ShardTotals totals_of(const HubView& hub, unsigned shard) {
    telemetry::ShardTotals totals;
    const auto own = [&](std::string_view name, std::uint64_t value, std::string_view) {
        totals.count(name, value);
        totals.count_handover(name, value);
    };
    hub.fabric.polls(shard).each(own);
    hub.fabric.counters(shard).each(own);
    const auto add = [&](pmd::Switch::PortId port) {
        if (hub.fabric.shard_of(port) != shard) return;
        const auto& counters = hub.fabric.counters(port);
        totals.rx_packets += counters.rx_packets.value();
        totals.tx_packets += counters.tx_packets.value();
        totals.rx_dropped_handover_full += counters.rx_dropped_handover_full.value();
    };
    for (const auto& [device, port] : hub.uplinks) add(port);
    for (const auto& [lane, port] : hub.lanes) add(port);
    return totals;
}

Json shards(const HubView& hub) {
    auto rows = Json::array();
    for (unsigned i = 0; i < hub.fabric.shards(); ++i) {
        const auto standing = hub.shards.watch(i).standing();
        rows.push_back(telemetry::shard_row(
            i, hub.shards.lcore(i), totals_of(hub, i),
            standing ? fmt::format("has not polled for {:.0f} s", static_cast<double>(*standing) / second) : ""));
    }
    return rows;
}

std::string_view word(hub::XrcTargetState state) {
    switch (state) {
        case hub::XrcTargetState::reset: return "reset";
        case hub::XrcTargetState::init: return "init";
        case hub::XrcTargetState::rtr: return "rtr";
        case hub::XrcTargetState::rts: return "rts";
        case hub::XrcTargetState::error: return "error";
        case hub::XrcTargetState::gone: break;
    }
    return "gone";
}

std::string lane_names(const auto& lanes) {
    std::vector<std::string> names;
    for (const auto lane : lanes) names.push_back(lane_name(lane));
    return fmt::format("{}", fmt::join(names, " "));
}

Json xrc(const HubView& hub) {
    auto rows = Json::array();
    for (const auto& target : hub.xrc.targets()) {
        const bool connected = is_connected(target.state);
        rows.push_back({{"target", fmt::format("0x{:06x}", std::to_underlying(target.qpn))},
                        {"domain", std::to_underlying(target.domain)},
                        {"state", word(target.state)},
                        {"peer", connected ? fmt::format("0x{:06x}", std::to_underlying(target.peer)) : ""},
                        {"gid", connected ? wire::to_string(target.to.dgid) : ""},
                        {"opened_by", lane_names(hub.xrc.openers(target.qpn))},
                        {"shared_with", lane_names(hub.xrc.members(target.domain))}});
    }
    return rows;
}

/// On a soft fabric.
const sa::Agent* agent_of(const HubView& hub) {
    return hub.node != nullptr ? hub.node->subnet_agent() : nullptr;
}

Json paths(const HubView& hub) {
    auto rows = Json::array();
    if (const auto* const agent = agent_of(hub)) {
        telemetry::add_path_rows(rows, "node", agent->paths().cache(), hub.now, [](wire::PKey) { return true; });
    }
    return rows;
}

Json path_cache(const HubView& hub) {
    auto rows = Json::array();
    if (const auto* const agent = agent_of(hub)) {
        rows.push_back(telemetry::path_cache_row("node", agent->paths().cache()));
    }
    return rows;
}

/// `users`: of all programs, and of the node's own address resolution.
Json multicast(const HubView& hub) {
    auto rows = Json::array();
    const auto* const agent = agent_of(hub);
    if (agent == nullptr) return rows;
    for (const auto& shown : agent->groups().show()) {
        rows.push_back({{"port", "node"},
                        {"mgid", to_string(shown.mgid)},
                        {"mlid", to_string(shown.group.mlid)},
                        {"member", shown.held != 0 ? "yes" : "no"},
                        {"users", shown.users}});
    }
    return rows;
}

Json counters(const HubView& hub) {
    telemetry::CounterRows rows;
    CounterSums sums;
    for (unsigned i = 0; i < hub.fabric.shards(); ++i) hub.fabric.counters(i).each(sums.add());
    sums.each(rows.of("hub"));
    for (unsigned i = 0; i < hub.fabric.shards(); ++i) {
        hub.fabric.polls(i).each(rows.of(fmt::format("shard{}", i)));
        rows.of(fmt::format("shard{}", i))("stalls", hub.shards.watch(i).stalls.value(), pmd::StallWatch::stalls_help);
    }
    hub.clients.each(rows.of("hub"));
    hub.direct.each(rows.of("hub"));
    hub.registry.refusals().each(rows.of("hub"));
    if (hub.node != nullptr) hub.node->counters(rows.of("node"));
    const auto add = [&](const std::string& owner, pmd::Switch::PortId port) {
        hub.fabric.counters(port).each(rows.of(owner));
        hub.fabric.device(port).counters(rows.of(owner + " device"));
    };
    for (const auto& [device, port] : hub.uplinks) add(device, port);
    for (const auto& [lane, port] : hub.lanes) add(lane_name(lane), port);
    hub.fabric.removed_ports().each(rows.of(removed_ports));
    hub.fabric.removed_devices().each(rows.of(std::string(removed_ports) + " device"));
    return std::move(rows).take();
}

}  // namespace

std::vector<telemetry::Table> hub_tables(const std::function<HubView()>& view) {
    return {
        {"hub", "Lanes and uplinks: who has them, what they carry; what removed ones carried. No parameters",
         [view] { return ports(view()); }},
        {"shards", "Shards: how busy each lcore is, and what it handed to others. No parameters",
         [view] { return shards(view()); }},
        {"paths", "On a soft fabric, the paths that the node's programs have asked for. No parameters",
         [view] { return paths(view()); }},
        {"path_cache", "How well the node's cache of paths does. No parameters", [view] { return path_cache(view()); }},
        {"multicast",
         "On a soft fabric, the groups that the node is in, however many of its programs are. No parameters",
         [view] { return multicast(view()); }},
        {"xrc", "XRC target queue pairs that programs of a node share. No parameters", [view] { return xrc(view()); }},
        {"counters", "Every counter. No parameters", [view] { return counters(view()); }}};
}

}  // namespace verbline::cli
