// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/shard_tables.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "control/telemetry/counters.h"
#include "control/telemetry/shard_table.h"

namespace verbline::gateway {

using telemetry::Json;

namespace {

/// Packets and drops of one queue of one port.
struct QueueTotals {
    std::uint64_t rx_packets = 0, rx_bytes = 0, rx_dropped = 0, tx_packets = 0, tx_bytes = 0, tx_dropped = 0;

    void count(std::string_view name, std::uint64_t value) {
        if (name == "rx_packets") rx_packets = value;
        if (name == "rx_bytes") rx_bytes = value;
        if (name == "tx_packets") tx_packets = value;
        if (name == "tx_bytes") tx_bytes = value;
        if (name.starts_with("rx_dropped")) rx_dropped += value;
        if (name.starts_with("tx_dropped")) tx_dropped += value;
    }
};

/// Visits what one shard counts of one port.
void visit_port(const router::Shard& shard, std::string_view port, const CounterVisitor& visit) {
    shard.counters([&](std::string_view owner, std::string_view name, std::uint64_t value, std::string_view help) {
        if (owner == port) visit(name, value, help);
    });
}

/// Visits what a shard counts of no port.
void visit_own(const router::Shard& shard, const CounterVisitor& visit) {
    visit_port(shard, "", visit);
}

telemetry::ShardTotals totals_of(const View& gateway, std::size_t shard) {
    telemetry::ShardTotals totals;
    visit_own(gateway.shards[shard],
              [&](std::string_view name, std::uint64_t value, std::string_view) { totals.count(name, value); });
    const auto handover = [&](std::string_view name, std::uint64_t value, std::string_view) {
        totals.count_handover(name, value);
    };
    for (const auto& port : gateway.ports) {
        QueueTotals queue;
        visit_port(gateway.shards[shard], port->name(),
                   [&](std::string_view name, std::uint64_t value, std::string_view) { queue.count(name, value); });
        totals.rx_packets += queue.rx_packets;
        totals.tx_packets += queue.tx_packets;
        port->device().queue_counters(static_cast<std::uint16_t>(shard), handover);
        port->kernel().queue_counters(static_cast<std::uint16_t>(shard), handover);
    }
    totals.commands_waiting = gateway.links[shard].waiting();
    return totals;
}

/// What an operator should see to.
std::string warning(const View& gateway, std::size_t shard) {
    const auto standing = gateway.shards.watch(shard).standing();
    if (!standing) return gateway.warnings[shard];
    return fmt::format("has not polled for {:.0f} s{}{}", static_cast<double>(*standing) / second,
                       gateway.warnings[shard].empty() ? "" : "; ", gateway.warnings[shard]);
}

}  // namespace

Json queues(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.ports) {
        for (std::size_t i = 0; i < gateway.shards.size(); ++i) {
            QueueTotals totals;
            visit_port(
                gateway.shards[i], port->name(),
                [&](std::string_view name, std::uint64_t value, std::string_view) { totals.count(name, value); });
            rows.push_back({{"port", port->name()},
                            {"queue", i},
                            {"shard", i},
                            {"rx_packets", totals.rx_packets},
                            {"rx_bytes", totals.rx_bytes},
                            {"rx_dropped", totals.rx_dropped},
                            {"tx_packets", totals.tx_packets},
                            {"tx_bytes", totals.tx_bytes},
                            {"tx_dropped", totals.tx_dropped}});
        }
    }
    return rows;
}

Json shards(const View& gateway) {
    auto rows = Json::array();
    for (std::size_t i = 0; i < gateway.shards.size(); ++i) {
        rows.push_back(telemetry::shard_row(i, gateway.shards.lcore(i), totals_of(gateway, i), warning(gateway, i)));
    }
    return rows;
}

CounterSums port_counters(const View& gateway, std::string_view port) {
    CounterSums sums;
    for (std::size_t i = 0; i < gateway.shards.size(); ++i) visit_port(gateway.shards[i], port, sums.add());
    return sums;
}

Json counters(const View& gateway) {
    telemetry::CounterRows rows;
    for (const auto& port : gateway.ports) {
        port_counters(gateway, port->name()).each(rows.of(port->name()));
    }
    for (std::size_t i = 0; i < gateway.shards.size(); ++i) {
        const auto row = rows.of(fmt::format("shard{}", i));
        visit_own(gateway.shards[i], row);
        gateway.links[i].counters(row);
        row("stalls", gateway.shards.watch(i).stalls.value(), pmd::StallWatch::stalls_help);
    }
    for (const auto& port : gateway.ports) {
        port->port().counters(rows.of(port->name()));
        gateway.dhcp_relays.counters(port->id(), rows.of(port->name()));
        port->device().counters(rows.of(port->name() + " device"));
        port->kernel().counters(rows.of(port->name() + " kernel"));
    }
    gateway.follower.counters(rows.of("kernel"));
    if (gateway.proxying != nullptr) gateway.proxying->counters(rows.of("proxy"));
    return std::move(rows).take();
}

}  // namespace verbline::gateway
