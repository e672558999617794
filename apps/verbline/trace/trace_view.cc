// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/trace/trace_view.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace verbline::cli {
namespace {

struct TracedEvent {
    const pmd::TraceRecord* record = nullptr;
    const pmd::TraceRecord::Event* event = nullptr;
};

std::string time_of_day(Time utc) {
    const auto seconds = static_cast<std::time_t>(utc / second);
    return fmt::format("{:%H:%M:%S}.{:06}", fmt::gmtime(seconds), utc % second / microsecond);
}

double microseconds(Time time) {
    return std::round(static_cast<double>(time) / 100) / 10;
}

/// Those that a newer version has written are of no name here.
pmd::TraceEventText event_text(pmd::TraceEvent event) {
    const auto number = static_cast<std::size_t>(event);
    return number < pmd::trace_event_texts.size() ? pmd::trace_event_texts[number]
                                                  : pmd::TraceEventText{"unknown", "", ""};
}

std::vector<TracedEvent> in_order(const std::vector<pmd::TraceRecord>& records) {
    std::vector<TracedEvent> all;
    for (const auto& record : records)
        for (const auto& event : record.events) all.push_back({&record, &event});
    // Where it is the same moment, by the order in their rings.
    std::ranges::sort(all, [](const auto& a, const auto& b) {
        if (a.event->utc != b.event->utc) return a.event->utc < b.event->utc;
        if (a.record != b.record) return a.record < b.record;
        return a.event < b.event;
    });
    return all;
}

}  // namespace

Json trace_rows(const std::vector<pmd::TraceRecord>& records, std::size_t last) {
    auto all = in_order(records);
    if (last != 0 && all.size() > last) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(last));
    Json rows = Json::array();
    Time before = all.empty() ? 0 : all.front().event->utc;
    for (const auto& [record, event] : all) {
        const auto text = event_text(event->entry.event);
        Json row{{"time", time_of_day(event->utc)},
                 {"us_later", microseconds(event->utc - before)},
                 {"shard", record->owner.shard},
                 {"event", text.name},
                 {"port", record->port_name(event->entry.port)},
                 {"value", nullptr},
                 {"of", text.value}};
        if (!text.value.empty()) row["value"] = event->entry.value;
        rows.push_back(std::move(row));
        before = event->utc;
    }
    return rows;
}

std::string trace_summary(const pmd::TraceRecord& record) {
    const auto head =
        fmt::format("shard {} (lcore {}) of process {}: ", record.owner.shard, record.owner.lcore, record.pid);
    if (record.events.empty()) return head + "no events";
    return head + fmt::format("the last {} of {} events, until {} UTC", record.events.size(), record.recorded,
                              time_of_day(record.events.back().utc));
}

Json trace_event_rows() {
    Json rows = Json::array();
    for (const auto& text : pmd::trace_event_texts)
        if (text.name != "none") rows.push_back({{"event", text.name}, {"value_of", text.value}, {"help", text.help}});
    return rows;
}

}  // namespace verbline::cli
