// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/trace/trace_view.h"

#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

using pmd::TraceEvent;
using pmd::TraceRecord;

/// 12:05:09 on a day of 1970.
constexpr Time noon = (12 * 3600 + 5 * 60 + 9) * second;

TraceRecord::Event event(Time microseconds, TraceEvent what, std::uint16_t port = pmd::Trace::no_port,
                         std::uint32_t value = 0) {
    return {.utc = noon + microseconds * microsecond,
            .entry = {.cycles = 0, .event = what, .port = port, .value = value}};
}

std::vector<TraceRecord> two_shards() {
    return {{.pid = 4711,
             .owner = {.shard = 0, .lcore = 1, .ports = {"lan", "ib0"}},
             .recorded = 70'000,
             .events = {event(1, TraceEvent::received, 0, 32), event(9, TraceEvent::resting)}},
            {.pid = 4711,
             .owner = {.shard = 1, .lcore = 2, .ports = {"lan", "ib0"}},
             .recorded = 1,
             .events = {event(3, TraceEvent::commands, pmd::Trace::no_port, 2)}}};
}

TEST(TraceView, EventsOfAllShardsAreInTheOrderInWhichTheyHappened) {
    EXPECT_EQ(render_table(trace_rows(two_shards(), 0)),
              "TIME             US LATER  SHARD  EVENT     PORT  VALUE  OF\n"
              "12:05:09.000001       0.0      0  received  lan      32  packets\n"
              "12:05:09.000003       2.0      1  commands            2  commands\n"
              "12:05:09.000009       6.0      0  resting             -\n");
}

TEST(TraceView, ShowsTheLastOnes) {
    const auto rows = trace_rows(two_shards(), 2);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["event"], "commands");
    EXPECT_EQ(rows[0]["us_later"], 0.0);
    EXPECT_TRUE(rows[1]["value"].is_null());
    EXPECT_EQ(trace_rows({}, 5), Json::array());
}

TEST(TraceView, AnEventOfALaterVersionHasNoName) {
    const std::vector<TraceRecord> records{
        {.pid = 1, .owner = {}, .recorded = 1, .events = {event(0, static_cast<TraceEvent>(60'000))}}};
    EXPECT_EQ(trace_rows(records, 0)[0]["event"], "unknown");
}

TEST(TraceView, SaysHowMuchWasKept) {
    EXPECT_EQ(trace_summary(two_shards()[0]),
              "shard 0 (lcore 1) of process 4711: the last 2 of 70000 events, until 12:05:09.000009 UTC");
    EXPECT_EQ(trace_summary({.pid = 7, .owner = {.shard = 3, .lcore = 4, .ports = {}}, .recorded = 0, .events = {}}),
              "shard 3 (lcore 4) of process 7: no events");
}

}  // namespace
}  // namespace verbline::cli
