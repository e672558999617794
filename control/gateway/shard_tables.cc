// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/shard_tables.h"

#include <string>
#include <string_view>
#include <utility>

#include <rte_lcore.h>

#include <fmt/format.h>

#include "control/telemetry/counters.h"

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

/// What a shard has done, for the `shards` table.
struct ShardTotals {
    std::uint64_t polls_busy = 0, polls_idle = 0, waits = 0, events_lost = 0;
    std::uint64_t busy_cycles = 0, idle_cycles = 0, asleep_cycles = 0;
    std::uint64_t bursts = 0, burst_packets = 0;  ///< received, from links and from the kernel
    std::uint64_t rx_handed_over = 0, rx_taken_over = 0, tx_handed_over = 0;
    std::uint64_t rx_dropped_handover_full = 0, tx_dropped_handover_full = 0;
    std::uint64_t rx_packets = 0, tx_packets = 0;  ///< of all ports

    void count(std::string_view name, std::uint64_t value) {
        if (name == "polls_busy") polls_busy = value;
        if (name == "polls_idle") polls_idle = value;
        if (name == "waits") waits = value;
        if (name == "events_lost") events_lost = value;
        if (name == "busy_cycles") busy_cycles = value;
        if (name == "idle_cycles") idle_cycles = value;
        if (name == "asleep_cycles") asleep_cycles = value;
        if (name == "rx_bursts") bursts = value;
        if (name == "rx_burst_packets") burst_packets = value;
    }
    /// Of one queue of a device; a switch puts the number of its member in front.
    void count_handover(std::string_view name, std::uint64_t value) {
        if (name.ends_with("rx_handed_over")) rx_handed_over += value;
        if (name.ends_with("rx_taken_over")) rx_taken_over += value;
        if (name.ends_with("tx_handed_over")) tx_handed_over += value;
        if (name.ends_with("rx_dropped_handover_full")) rx_dropped_handover_full += value;
        if (name.ends_with("tx_dropped_handover_full")) tx_dropped_handover_full += value;
    }
};

ShardTotals totals_of(const View& gateway, std::size_t shard) {
    ShardTotals totals;
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
    return totals;
}

/// Of a set of CPUs, as the kernel writes it: "2-3,6".
std::string text(const rte_cpuset_t& cpus) {
    std::string list;
    for (int first = 0; first < CPU_SETSIZE; ++first) {
        if (!CPU_ISSET(first, &cpus)) continue;
        int last = first;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus)) ++last;
        list += fmt::format("{}{}", list.empty() ? "" : ",", first);
        if (last > first) list += fmt::format("-{}", last);
        first = last;
    }
    return list;
}

/// What an operator should see to.
std::string warning(const View& gateway, std::size_t shard) {
    const auto standing = gateway.shards.watch(shard).standing();
    if (!standing) return gateway.warnings[shard];
    return fmt::format("has not polled for {:.0f} s{}{}", static_cast<double>(*standing) / second,
                       gateway.warnings[shard].empty() ? "" : "; ", gateway.warnings[shard]);
}

Json shard_row(const View& gateway, std::size_t shard) {
    const auto totals = totals_of(gateway, shard);
    const auto lcore = gateway.shards.lcore(shard);
    return {{"shard", shard},
            {"lcore", lcore},
            {"cpus", text(rte_lcore_cpuset(lcore))},
            {"socket", gateway.shards.socket(shard)},
            {"busy_cycles", totals.busy_cycles},
            {"idle_cycles", totals.idle_cycles},
            {"asleep_cycles", totals.asleep_cycles},
            {"polls_busy", totals.polls_busy},
            {"polls_idle", totals.polls_idle},
            {"waits", totals.waits},
            {"bursts", totals.bursts},
            {"burst_packets", totals.burst_packets},
            {"rx_packets", totals.rx_packets},
            {"tx_packets", totals.tx_packets},
            {"rx_handed_over", totals.rx_handed_over},
            {"rx_taken_over", totals.rx_taken_over},
            {"tx_handed_over", totals.tx_handed_over},
            {"rx_dropped_handover_full", totals.rx_dropped_handover_full},
            {"tx_dropped_handover_full", totals.tx_dropped_handover_full},
            {"commands_waiting", gateway.links[shard].waiting()},
            {"events_lost", totals.events_lost},
            {"warning", warning(gateway, shard)}};
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
    for (std::size_t i = 0; i < gateway.shards.size(); ++i) rows.push_back(shard_row(gateway, i));
    return rows;
}

Json counters(const View& gateway) {
    telemetry::CounterRows rows;
    for (const auto& port : gateway.ports) {
        CounterSums sums;
        for (std::size_t i = 0; i < gateway.shards.size(); ++i) visit_port(gateway.shards[i], port->name(), sums.add());
        sums.each(rows.of(port->name()));
    }
    for (std::size_t i = 0; i < gateway.shards.size(); ++i) {
        const auto row = rows.of(fmt::format("shard{}", i));
        visit_own(gateway.shards[i], row);
        gateway.links[i].counters(row);
        row("stalls", gateway.shards.watch(i).stalls.value(), "times that the shard did not poll for a second");
    }
    for (const auto& port : gateway.ports) {
        port->port().counters(rows.of(port->name()));
        port->device().counters(rows.of(port->name() + " device"));
        port->kernel().counters(rows.of(port->name() + " kernel"));
    }
    gateway.follower.counters(rows.of("kernel"));
    return std::move(rows).take();
}

}  // namespace verbline::gateway
