// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/report.h"

#include <array>

#include <gtest/gtest.h>

namespace verbline::bench {
namespace {

PacketPlan two_queues(const std::string& role) {
    return make_plan({.devices = {"dpdk:net_null0"}, .role = role, .flows = 10'000, .queues = 2}).value();
}

/// Two seconds, of which one lcore polled both queues.
std::unique_ptr<TrialResult> measured() {
    auto trial = std::make_unique<TrialResult>();
    trial->elapsed = 2 * second;
    trial->tx = {4'000'000, 256'000'000}, trial->rx = {3'999'990, 255'999'360};
    trial->order = {.received = 3'999'990, .duplicates = 1, .reordered = 2};
    trial->lost = 10;
    trial->queues = {{0, 0, 1, {2'000'000, 128'000'000}, {2'019'995, 129'279'680}},
                     {0, 1, 1, {2'000'000, 128'000'000}, {1'979'995, 126'719'680}}};
    trial->lcores = {{1, 3'000'000'000, 1'000'000'000, 7'999'990}};
    trial->drops = {{"dpdk:net_null0", "tx_impair_lost", 10}};
    for (unsigned i = 0; i < 100; ++i) trial->latency.record(3000);
    return trial;
}

TEST(BenchReport, TrialRowHasRatesAndLosses) {
    const auto row = trial_row(two_queues("loopback"), *measured());
    EXPECT_EQ(row["tx_mpps"], 2);
    EXPECT_EQ(row["tx_gbit_s"], 1.024);
    EXPECT_EQ(row["tx_line_gbit_s"], 1.344);
    EXPECT_EQ(row["rx_mpps"], 1.999995);
    EXPECT_EQ(row["lost"], 10);
    EXPECT_EQ(row["duplicates"], 1);
    EXPECT_EQ(row["reordered"], 2);
    EXPECT_FALSE(trial_row(two_queues("generator"), *measured()).contains("rx_mpps"));
    EXPECT_FALSE(trial_row(two_queues("sink"), *measured()).contains("tx_mpps"));
}

TEST(BenchReport, LcoresHaveCyclesPerPacketAndBusyShare) {
    const auto row = lcore_rows(*measured())[0];
    EXPECT_EQ(row["cycles_per_packet"], 375);
    EXPECT_EQ(row["busy_percent"], 75);
}

TEST(BenchReport, LatencyIsInMicroseconds) {
    const auto row = latency(*measured(), 3e9);
    EXPECT_EQ(row["p50"], 1);
    EXPECT_EQ(row["p99_99"], 1);
    EXPECT_EQ(row["frames"], 100);
    EXPECT_TRUE(latency(TrialResult(), 3e9).is_null());
}

TEST(BenchReport, SpreadIsComparedWithChance) {
    const auto row = spread(two_queues("loopback"), *measured());
    EXPECT_EQ(row["furthest_from_even_percent"], 1);
    EXPECT_EQ(row["standard_deviation_by_chance_percent"], 1);
    EXPECT_TRUE(spread(two_queues("generator"), *measured()).is_null());
}

TEST(BenchReport, CsvHasALineForEachTrial) {
    Report report;
    report.trials.push_back(measured()), report.trials.push_back(measured());
    const auto text = to_csv(two_queues("loopback"), report);
    EXPECT_EQ(std::ranges::count(text, '\n'), 3);
    EXPECT_TRUE(text.starts_with("seconds,tx_packets,tx_mpps,")) << text;
    EXPECT_NE(text.find("\n2.0,4000000,2.0,"), text.npos) << text;
}

TEST(BenchReport, CsvHasLatencyTimestampsAndOffloads) {
    Report report{.cycles_per_second = 3e9};
    report.trials.push_back(measured());
    auto plan = two_queues("loopback");
    EXPECT_NE(to_csv(plan, report).find(",p50_us,p99_us,max_us,timestamps\n"), std::string::npos)
        << to_csv(plan, report);
    plan.timestamps = Timestamps::hardware;
    const auto choice = make_plan({.devices = {"dpdk:net_null0"}, .ports = {.offloads = "tcp-tso,tx-ipv4-cksum"}});
    report.ports = {
        PortFacts{.device = "dpdk:net_null0", .in_effect = choice->ports.offloads.named[0].offloads},
        PortFacts{.device = "tap:t"},
    };
    const auto text = to_csv(plan, report);
    EXPECT_NE(text.find(",max_us,timestamps,undated,misdated,tx_offloads\n"), text.npos) << text;
    EXPECT_NE(text.find(",hardware,0,0,"), text.npos) << text;
    EXPECT_TRUE(text.ends_with("tcp-tso\n")) << text;
}

TEST(BenchReport, PortsHaveTheOffloadsThatWereAskedForAndThatTheyHave) {
    const auto choice = make_plan({.devices = {"dpdk:net_null0"}, .ports = {.offloads = "tcp-tso"}}).value().ports;
    const std::array ports{PortFacts{.device = "dpdk:net_null0",
                                     .driver = "net_null",
                                     .asked = choice.texts,
                                     .in_effect = choice.offloads.named[0].offloads},
                           PortFacts{.device = "tap:t"}};
    const auto rows = port_rows(ports);
    EXPECT_EQ(rows[0]["offloads_asked"], "tcp-tso");
    EXPECT_EQ(rows[0]["tx_offloads"], cli::Json::array({"tcp-tso"}));
    EXPECT_EQ(rows[0]["rx_offloads"], cli::Json::array());
    EXPECT_FALSE(rows[1].contains("offloads_asked")) << "it has none to choose";
    EXPECT_NE(offload_table(ports, choice).find("dpdk:net_null0  tcp-tso  tcp-tso"), std::string::npos)
        << offload_table(ports, choice);
    EXPECT_EQ(offload_table(ports, {}), "");
}

TEST(BenchReport, PortsHaveTheirRules) {
    const std::array ports{
        PortFacts{.device = "dpdk:a",
                  .rules = pmd::RoceRules{.match = pmd::RoceMatch::udp_port, .count = 2, .refused = {"by QPN: no"}},
                  .isolated = true},
        PortFacts{.device = "dpdk:b", .rules = pmd::RoceRules{.match = pmd::RoceMatch::qpn, .count = 8}},
        PortFacts{.device = "dpdk:c"}};
    const auto rows = port_rows(ports);
    EXPECT_EQ(
        rows[0]["roce_rules"],
        (cli::Json{
            {"match", "udp-port"}, {"count", 2}, {"refused", cli::Json::array({"by QPN: no"})}, {"isolated", true}}));
    EXPECT_FALSE(rows[2].contains("roce_rules"));
    EXPECT_NE(rule_table(ports).find("dpdk:b  qpn"), std::string::npos) << rule_table(ports);
    EXPECT_EQ(rule_table({}), "");
    EXPECT_EQ(rule_note(ports[0]), "dpdk:a: rules for RoCE: udp-port; refused by QPN: no");
    EXPECT_EQ(rule_note(ports[1]), "");
    EXPECT_EQ(rule_note(ports[2]), "");
}

TEST(BenchReport, TimestampsHaveTheirSource) {
    TrialResult trial;
    trial.undated = 3, trial.clocks = {ClockFacts{.hertz = 1e9, .steps = 1}};
    EXPECT_EQ(timestamps(two_queues("loopback"), trial), (cli::Json{{"source", "tsc"}}));
    EXPECT_TRUE(timestamps(two_queues("sink"), trial).is_null());
    const auto plan = make_plan({.devices = {"dpdk:net_null0"}, .timestamps = "hardware"}).value();
    const auto row = timestamps(plan, trial);
    EXPECT_EQ(row["source"], "hardware");
    EXPECT_EQ(row["undated"], 3);
    EXPECT_EQ(row["clock_hz"], cli::Json::array({1'000'000'000}));
    EXPECT_EQ(row["clock_steps"], cli::Json::array({1}));
}

TEST(BenchReport, JsonHasAllThatWasMeasured) {
    Report report;
    report.trials.push_back(measured());
    report.machine = {{"cpu", "of a kind"}};
    const auto out = to_json(two_queues("loopback"), report);
    for (const auto* key : {"role", "ports", "frames", "result", "queues", "lcores", "drops", "latency_us",
                            "latency_histogram_us", "spread", "machine"})
        EXPECT_TRUE(out.contains(key)) << key;
    EXPECT_FALSE(out.contains("rfc2544"));
    EXPECT_EQ(out["drops"][0]["reason"], "tx_impair_lost");
}

TEST(BenchReport, APortsRowHasWhatItsDriverSays) {
    const std::vector<PortFacts> ports{{.device = "dpdk:0000:03:00.0", .driver = "mlx5_pci", .firmware = "22.39.1002"},
                                       {.device = "tap:t0"}};
    EXPECT_EQ(port_rows(ports).dump(),
              R"([{"device":"dpdk:0000:03:00.0","driver":"mlx5_pci","firmware":"22.39.1002"},{"device":"tap:t0"}])");
}

TEST(BenchReport, ProgressIsOfTheTimeSinceTheLastLine) {
    EXPECT_EQ(
        progress_line(two_queues("loopback"), {500'000, 32'000'000}, {250'000, 16'000'000}, second / 2, 3 * second),
        "3 s  tx 1.000 Mpps 0.512 Gbit/s  rx 0.500 Mpps 0.256 Gbit/s");
}

}  // namespace
}  // namespace verbline::bench
