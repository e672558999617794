// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/figures.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/apps/verbline/report/samples.h"

namespace verbline::report {
namespace {

const Figure* find(const std::vector<Figure>& figures, const std::string& id) {
    const auto found = std::ranges::find(figures, id, &Figure::id);
    return found == figures.end() ? nullptr : &*found;
}

PacketRun packet(auto&& change) {
    auto run = read<PacketRun>(packet_json());
    change(run);
    return run;
}
PacketRun of_size(double size, double mpps) {
    return packet([&](PacketRun& run) { run.sizes = {size}, run.average_size = size, run.mpps = mpps; });
}

TEST(Figures, FilesThatDifferInSizeAreALine) {
    const auto figures = packet_figures({of_size(128, 0.4), of_size(64, 0.5)});
    const auto* const figure = find(figures, "rate-by-frame-size");
    ASSERT_NE(figure, nullptr);
    const auto& panel = figure->panels.at(0);
    EXPECT_EQ(panel.x.scale, Scale::log2);
    ASSERT_EQ(panel.series.size(), 1u);
    EXPECT_EQ(panel.series[0].points[0].y, 0.5);
    EXPECT_EQ(figure->table.rows.at(0).at(0), 64);
    EXPECT_EQ(figure->table.rows.at(1).at(1), 0.4);
    EXPECT_EQ(find(figures, "rate-by-flows"), nullptr) << "they do not differ in flows";
}

TEST(Figures, SingleFileHasNoLineAndIsInTheResults) {
    EXPECT_TRUE(packet_figures({of_size(64, 0.5)}).empty());
    EXPECT_EQ(packet_results({of_size(64, 0.5)}).rows.size(), 1u);
}

TEST(Figures, ManyFlowsAreCountedInTens) {
    const auto flows = [](double number) { return packet([&](PacketRun& run) { run.flows = number; }); };
    EXPECT_EQ(find(packet_figures({flows(1), flows(64)}), "rate-by-flows")->panels[0].x.scale, Scale::log2);
    EXPECT_EQ(find(packet_figures({flows(1), flows(1e6)}), "rate-by-flows")->panels[0].x.scale, Scale::log10);
}

TEST(Figures, QueuesMayGrowWithLcores) {
    const auto on = [](double lcores, double queues) {
        return packet([&](PacketRun& run) { run.lcores = lcores, run.queues = queues; });
    };
    EXPECT_NE(find(packet_figures({on(1, 1), on(2, 2)}), "rate-by-lcores"), nullptr);
    const auto figures = packet_figures({on(1, 1), on(2, 1), on(1, 2), on(2, 2)});
    ASSERT_NE(find(figures, "rate-by-lcores"), nullptr);
    EXPECT_EQ(find(figures, "rate-by-lcores")->panels[0].series.size(), 2u) << "lines of one and of two queues";
}

TEST(Figures, TrialsOfASearchAreLossByRate) {
    const auto run = packet([](PacketRun& each) { each.trials = {{2, 1000, 100}, {1, 1000, 0}}; });
    const auto figures = packet_figures({run});
    ASSERT_NE(find(figures, "loss-by-rate"), nullptr);
    EXPECT_EQ(find(figures, "loss-by-rate")->panels[0].series[0].points[1].y, 10);
}

TEST(Figures, LatencyHasPercentilesAndADistribution) {
    const auto figures = latency_figures({of_size(64, 0.5)});
    const auto* const percentiles = find(figures, "latency-percentiles");
    ASSERT_NE(percentiles, nullptr);
    EXPECT_EQ(percentiles->panels[0].series[0].points.size(), 5u);
    EXPECT_EQ(percentiles->panels[0].series[0].points[4].x, 99.99);
    EXPECT_EQ(percentiles->panels[0].series[0].points[4].y, 32);
    const auto* const distribution = find(figures, "latency-histogram");
    ASSERT_NE(distribution, nullptr);
    EXPECT_EQ(distribution->panels[0].marks.size(), 5u);
    EXPECT_EQ(distribution->panels[0].series[0].points[0].y, 75) << "per cent of four frames";
    EXPECT_TRUE(latency_figures({packet([](PacketRun& run) { run.latency.reset(), run.histogram.clear(); })}).empty());
}

TEST(Figures, QueuesHaveTheirShares) {
    const auto figures = queue_figures({of_size(64, 0.5)});
    ASSERT_EQ(figures.size(), 1u);
    EXPECT_EQ(figures[0].panels[0].marks[0].value, 50);
    EXPECT_EQ(figures[0].panels[0].series[0].points[1].y, 49.495);
    EXPECT_TRUE(queue_figures({packet([](PacketRun& run) { run.shares.clear(); })}).empty());
}

TEST(Figures, RdmaRoundsAreALine) {
    const auto figures = rdma_figures({read<RdmaRun>(rdma_json())});
    const auto* const throughput = find(figures, "throughput-by-message-size");
    ASSERT_NE(throughput, nullptr);
    EXPECT_EQ(throughput->panels[0].series[0].points[1].y, 2.048) << "2 M/s of 128 bytes";
    EXPECT_EQ(find(figures, "latency-by-message-size"), nullptr);
    EXPECT_EQ(find(figures, "rate-by-queue-pairs"), nullptr);
}

TEST(Figures, RdmaLinesOfTwoTests) {
    auto other = read<RdmaRun>(rdma_json());
    other.test = "RDMA_Write_BW_Test";
    const auto figures = rdma_figures({read<RdmaRun>(rdma_json()), other});
    ASSERT_EQ(find(figures, "rate-by-message-size")->panels[0].series.size(), 2u);
    EXPECT_EQ(find(figures, "rate-by-message-size")->panels[0].series[1].name, "RDMA_Write_BW_Test");
}

TEST(Figures, IpoibHasAPanelForADirectionAndALineForACarrier) {
    const auto figures = ipoib_figures({read<IpoibRun>(ipoib_json())});
    const auto* const ratio = find(figures, "ipoib-ratio");
    ASSERT_NE(ratio, nullptr);
    ASSERT_EQ(ratio->panels.size(), 2u);
    EXPECT_EQ(ratio->panels[0].title, "send");
    ASSERT_EQ(ratio->panels[1].series.size(), 1u) << "Ethernet is what it is beside";
    EXPECT_EQ(ratio->panels[1].series[0].points.size(), 2u);
    EXPECT_EQ(ratio->table.rows.size(), 8u);
    const auto* const time = find(figures, "ipoib-time");
    ASSERT_NE(time, nullptr);
    ASSERT_EQ(time->panels[0].series.size(), 2u);
    EXPECT_EQ(time->panels[0].series[1].name, "soft_ib");
    EXPECT_EQ(time->panels[0].series[1].points[0].y, 40);
}

TEST(Figures, ComparisonTellsOfLimitsIfThereAreAny) {
    auto rows = comparison_json();
    EXPECT_EQ(std::ranges::count(comparison_figures({read<Comparison>(rows)})[0].table.columns, "share of the limit"),
              0);
    rows[0]["limit"] = "one copy", rows[0]["limit_value"] = 5.0, rows[0]["of_limit"] = 0.5;
    const auto table = comparison_figures({read<Comparison>(rows)})[0].table;
    const auto column = std::ranges::find(table.columns, "share of the limit") - table.columns.begin();
    ASSERT_LT(static_cast<std::size_t>(column), table.columns.size());
    EXPECT_EQ(table.rows[0][static_cast<std::size_t>(column)], 0.5);
}

TEST(Figures, ComparisonHasOursThePeersAndTheGoal) {
    const auto figures = comparison_figures({read<Comparison>(comparison_json())});
    ASSERT_EQ(figures.size(), 1u);
    const auto& panel = figures[0].panels.at(0);
    EXPECT_EQ(panel.y.categories, std::vector<std::string>{"icrc"});
    EXPECT_EQ(panel.series[0].points[0].y, 1.2);
    EXPECT_EQ(panel.series[0].points[0].label, "10.0 ns");
    EXPECT_DOUBLE_EQ(*panel.series[0].points[0].high, 1.26);
    EXPECT_EQ(panel.series[1].points[0].label, "ISA-L: 12.0 ns");
    EXPECT_EQ(panel.series[2].points[0].y, 0.9);
    EXPECT_EQ(panel.x.scale, Scale::linear);
    EXPECT_EQ(figures[0].table.rows.size(), 2u) << "also the row without a peer";
}

TEST(Figures, ComparisonOfFarValuesIsLogarithmic) {
    auto rows = comparison_json();
    rows[0]["goal"] = 200;
    EXPECT_EQ(comparison_figures({read<Comparison>(rows)})[0].panels[0].x.scale, Scale::log10);
}

TEST(Figures, HistoryHasAPanelForARowAndALineForAMachine) {
    const History history{
        .file = "h",
        .runs = std::get<History>(read_text("h", past_run_json("A").dump() + "\n" + past_run_json("B").dump() + "\n" +
                                                     past_run_json("A").dump())
                                      .value()
                                      .front())
                    .runs};
    const auto figures = history_figures({history});
    ASSERT_EQ(figures.size(), 1u);
    ASSERT_EQ(figures[0].panels.size(), 2u);
    const auto& panel = figures[0].panels[0];
    ASSERT_EQ(panel.series.size(), 2u);
    EXPECT_EQ(panel.series[0].points.size(), 2u);
    EXPECT_EQ(panel.series[0].points[1].x, 2);
    EXPECT_DOUBLE_EQ(*panel.series[0].points[0].low, 1.14);
    EXPECT_EQ(panel.marks.at(0).value, 0.9);
    EXPECT_EQ(figures[0].panels[1].y.title, "ns") << "without a peer, ours";
    EXPECT_EQ(figures[0].table.rows.size(), 6u);
}

}  // namespace
}  // namespace verbline::report
