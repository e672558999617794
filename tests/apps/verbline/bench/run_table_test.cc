// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/run_table.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace verbline::bench {
namespace {

struct Done {
    PlannedRun run;
    Report report;
};

/// A second of 64-byte frames at half of 10 Gb/s' line rate, of which one lcore lost some.
Done done(const std::string& name, const std::string& search = "") {
    PacketTexts texts{.devices = {"dpdk:net_null0"}, .search = search};
    Done made{.run = {.name = name, .size = "64", .plan = make_plan(texts).value()}, .report = {}};
    auto trial = std::make_unique<TrialResult>();
    trial->elapsed = second;
    trial->tx = {8'000'000, 512'000'000}, trial->rx = {7'440'476, 476'190'464};
    trial->lost = 559'524;
    trial->lcores = {{1, 1'500'000'000, 500'000'000, 15'000'000}};
    trial->drops = {{"dpdk:net_null0", "rx_missed", 559'524}};
    for (unsigned i = 0; i < 100; ++i) trial->latency.record(3000);
    made.report.trials.push_back(std::move(trial));
    made.report.ports = {{.device = "dpdk:net_null0", .driver = "net_null", .bits_per_second = 10'000'000'000}};
    made.report.cycles_per_second = 3e9;
    if (!search.empty()) made.report.search = {{"test", search}, {"longest_burst", 300}};
    return made;
}

TEST(BenchRunTable, RowHasWhatReportsHave) {
    const auto one = done("first");
    const auto row = run_row({&one.run, &one.report});
    EXPECT_EQ(row["run"], "first");
    EXPECT_EQ(row["size"], "64");
    EXPECT_EQ(row["rx_mpps"], 7.440476);
    EXPECT_EQ(row["line_percent"], 50);
    EXPECT_EQ(row["cycles_per_packet"], 100);
    EXPECT_EQ(row["p50_us"], 1);
    EXPECT_EQ(row["lost"], 559'524);
}

TEST(BenchRunTable, RowOfASeriesHasWhatItFound) {
    const auto one = done("bursts", "back-to-back");
    EXPECT_EQ(run_row({&one.run, &one.report}).dump(),
              R"({"run":"bursts","size":"64","protocol":"udp","longest_burst":300})");
}

TEST(BenchRunTable, CsvHasAllColumnsOfAllRuns) {
    const auto one = done("first"), other = done("bursts", "back-to-back");
    const std::vector<RunReport> runs{{&one.run, &one.report}, {&other.run, &other.report}};
    const auto text = runs_to_csv(runs);
    EXPECT_EQ(std::ranges::count(text, '\n'), 3);
    EXPECT_TRUE(text.starts_with("run,size,protocol,seconds,")) << text;
    EXPECT_NE(text.find("\nbursts,64,udp,,"), text.npos) << text;
    EXPECT_TRUE(text.ends_with(",300\n")) << text;
}

TEST(BenchRunTable, JsonIsAnArrayOfWhatARunPrints) {
    const auto one = done("first");
    const std::vector<RunReport> runs{{&one.run, &one.report}};
    const auto all =
        runs_to_json({.file = "p.toml", .description = "sizes", .eal = "-l 0-1", .options = {}, .runs = {}}, runs);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["profile"]["file"], "p.toml");
    EXPECT_EQ(all[0]["run"], "first");
    EXPECT_EQ(all[0]["result"]["rx_packets"], 7'440'476);
}

TEST(BenchRunTable, TextNamesTheRunOfADrop) {
    const auto one = done("first");
    const std::vector<RunReport> runs{{&one.run, &one.report}};
    const auto text =
        runs_to_text({.file = "p.toml", .description = "sizes", .eal = {}, .options = {}, .runs = {}}, runs);
    EXPECT_TRUE(text.starts_with("sizes\n\nRUN ")) << text;
    EXPECT_NE(text.find("\ndrops\nRUN    WHERE"), text.npos) << text;
    EXPECT_EQ(text.find("TX PACKETS"), text.npos) << text;
}

}  // namespace
}  // namespace verbline::bench
