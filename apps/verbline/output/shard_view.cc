// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/shard_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace verbline::cli {
namespace {

std::uint64_t count(const Json& row, const char* key) {
    const auto value = row.find(key);
    return value != row.end() && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

/// Rounded to so many decimals; null if `whole` is 0.
Json quotient(std::uint64_t part, std::uint64_t whole, double factor, int decimals) {
    if (whole == 0) return nullptr;
    const double value = factor * static_cast<double>(part) / static_cast<double>(whole);
    const double scale = std::pow(10, decimals);
    if (decimals == 0) return std::llround(value);
    return std::round(value * scale) / scale;
}

}  // namespace

ShardView::Work ShardView::work_of(const Json& row) {
    return {.busy = count(row, "busy_cycles"),
            .idle = count(row, "idle_cycles"),
            .asleep = count(row, "asleep_cycles"),
            .bursts = count(row, "bursts"),
            .packets = count(row, "burst_packets")};
}

ShardView::Work ShardView::difference(const Work& now, const Work& before) {
    const bool restarted =
        now.busy < before.busy || now.idle < before.idle || now.asleep < before.asleep || now.packets < before.packets;
    if (restarted || now.bursts < before.bursts) return now;
    return {.busy = now.busy - before.busy,
            .idle = now.idle - before.idle,
            .asleep = now.asleep - before.asleep,
            .bursts = now.bursts - before.bursts,
            .packets = now.packets - before.packets};
}

void ShardView::add_columns(Json& row, const Work& work, std::uint64_t packets_of_all, std::size_t shards) {
    row["busy_pct"] = quotient(work.busy, work.busy + work.idle + work.asleep, 100, 1);
    row["packets_per_burst"] = quotient(work.packets, work.bursts, 1, 1);
    row["cycles_per_packet"] = quotient(work.busy, work.packets, 1, 0);
    row["share_pct"] = quotient(work.packets, packets_of_all, 100, 1);
    row["spread"] = quotient(work.packets, packets_of_all, static_cast<double>(shards), 2);
}

Json ShardView::read(const Json& shards) {
    if (!shards.is_array() || !std::ranges::all_of(shards, &Json::is_object)) return shards;  // no instance's
    std::vector<Work> works;
    std::uint64_t packets = 0;
    for (const auto& row : shards) {
        auto& last = last_[count(row, "shard")];
        const auto now = work_of(row);
        works.push_back(difference(now, std::exchange(last, now)));
        packets += works.back().packets;
    }
    Json out = Json::array();
    for (std::size_t i = 0; i < works.size(); ++i) {
        Json row = Json::object();
        for (const auto& [name, value] : shards[i].items()) {
            if (name == "busy_cycles") add_columns(row, works[i], packets, works.size());
            row[name] = value;
        }
        out.push_back(std::move(row));
    }
    return out;
}

Json in_brief(const Json& shards) {
    constexpr std::array details{"busy_cycles",    "idle_cycles",   "asleep_cycles", "polls_busy",
                                 "polls_idle",     "waits",         "bursts",        "burst_packets",
                                 "rx_handed_over", "rx_taken_over", "tx_handed_over"};
    constexpr std::array troubles{"rx_dropped_handover_full", "tx_dropped_handover_full", "commands_waiting",
                                  "events_lost"};
    const auto nobody_has = [&](const char* trouble) {
        return std::ranges::none_of(shards,
                                    [&](const Json& row) { return row.is_object() && count(row, trouble) > 0; });
    };
    Json out = shards;
    const auto erase = [&out](const char* name) {
        for (auto& row : out) {
            if (row.is_object()) row.erase(name);
        }
    };
    std::ranges::for_each(details, erase);
    for (const auto* const trouble : troubles) {
        if (nobody_has(trouble)) erase(trouble);
    }
    return out;
}

}  // namespace verbline::cli
