// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub_tables.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "control/telemetry/counters.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

using telemetry::Json;

std::string lane_name(hub::LaneId lane) {
    return fmt::format("lane-{}", static_cast<unsigned>(lane));
}

void add_traffic(Json& row, const pmd::SwitchPortCounters& counters) {
    std::uint64_t rx_dropped = 0, tx_dropped = 0;
    counters.each([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name.starts_with("rx_dropped")) rx_dropped += value;
        if (name.starts_with("tx_dropped")) tx_dropped += value;
    });
    row["rx_packets"] = counters.rx_packets.value();
    row["rx_bytes"] = counters.rx_bytes.value();
    row["rx_dropped"] = rx_dropped;
    row["tx_packets"] = counters.tx_packets.value();
    row["tx_bytes"] = counters.tx_bytes.value();
    row["tx_dropped"] = tx_dropped;
}

Json lane_row(const HubView& hub, hub::LaneId lane, pmd::Switch::PortId port) {
    const auto& tenant = hub.registry.tenant(lane);
    std::vector<std::string> addresses, groups;
    for (const auto& address : tenant.addresses) addresses.push_back(to_string(address));
    for (const auto& group : tenant.groups) groups.push_back(wire::to_string(group));
    Json row{{"port", lane_name(lane)},
             {"program", tenant.program},
             {"pid", tenant.pid},
             {"link", hub.fabric.link_up(port) ? "up" : "down"},
             {"mac", wire::to_string(tenant.mac)},
             {"addresses", fmt::format("{}", fmt::join(addresses, " "))}};
    add_traffic(row, hub.fabric.counters(port));
    row["groups"] = fmt::format("{}", fmt::join(groups, " "));
    return row;
}

Json ports(const HubView& hub) {
    auto rows = Json::array();
    for (const auto& [device, port] : hub.uplinks) {
        Json row{
            {"port", "uplink"}, {"program", device}, {"pid", ""}, {"link", hub.fabric.link_up(port) ? "up" : "down"}};
        row["mac"] = "";
        row["addresses"] = "";
        add_traffic(row, hub.fabric.counters(port));
        row["groups"] = "all";
        rows.push_back(std::move(row));
    }
    for (const auto& [lane, port] : hub.lanes) rows.push_back(lane_row(hub, lane, port));
    return rows;
}

Json counters(const HubView& hub) {
    telemetry::CounterRows rows;
    hub.fabric.counters().each(rows.of("hub"));
    const auto add = [&](const std::string& owner, pmd::Switch::PortId port) {
        hub.fabric.counters(port).each(rows.of(owner));
        hub.fabric.device(port).counters(rows.of(owner + " device"));
    };
    for (const auto& [device, port] : hub.uplinks) add(device, port);
    for (const auto& [lane, port] : hub.lanes) add(lane_name(lane), port);
    return std::move(rows).take();
}

}  // namespace

std::vector<telemetry::Table> hub_tables(const std::function<HubView()>& view) {
    return {
        {"hub", "Lanes and uplinks: who has them, what they carry. No parameters", [view] { return ports(view()); }},
        {"counters", "Every counter. No parameters", [view] { return counters(view()); }}};
}

}  // namespace verbline::cli
