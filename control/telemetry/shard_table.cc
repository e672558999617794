// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/shard_table.h"

#include <rte_lcore.h>

#include <fmt/format.h>

namespace verbline::telemetry {
namespace {

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

}  // namespace

void ShardTotals::count(std::string_view name, std::uint64_t value) {
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

void ShardTotals::count_handover(std::string_view name, std::uint64_t value) {
    if (name.ends_with("rx_handed_over")) rx_handed_over += value;
    if (name.ends_with("rx_taken_over")) rx_taken_over += value;
    if (name.ends_with("tx_handed_over")) tx_handed_over += value;
    if (name.ends_with("rx_dropped_handover_full")) rx_dropped_handover_full += value;
    if (name.ends_with("tx_dropped_handover_full")) tx_dropped_handover_full += value;
}

Json shard_row(std::size_t shard, unsigned lcore, const ShardTotals& totals, const std::string& warning) {
    return {{"shard", shard},
            {"lcore", lcore},
            {"cpus", text(rte_lcore_cpuset(lcore))},
            {"socket", static_cast<int>(rte_lcore_to_socket_id(lcore))},
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
            {"commands_waiting", totals.commands_waiting},
            {"events_lost", totals.events_lost},
            {"warning", warning}};
}

}  // namespace verbline::telemetry
