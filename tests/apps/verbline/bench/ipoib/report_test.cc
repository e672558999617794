// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/report.h"

#include <gtest/gtest.h>

namespace verbline::ipoib_bench {
namespace {

using link::Carrier;

/// Three rounds of one size: cycles of Ethernet and of IPoIB on two carriers, of which the last round was slow for all.
class IpoibReport : public testing::Test {
protected:
    IpoibReport() {
        for (auto& one : results.series()) {
            const double times = !one.link ? 1 : *one.link == Carrier::soft_ib ? 4 : 2;
            const auto worker = one.what.requests ? Worker::software : Worker::nobody;
            for (const double round : {100., 110., 300.})
                one.add({.send_cycles = round * times,
                         .receive_cycles = round,
                         .send = worker,
                         .receive = worker,
                         .counts = {.sent = 10, .received = 10}});
        }
    }

    IpoibPlan plan = make_plan({.sizes = "1000"}).value();
    Results results{plan};
};

TEST_F(IpoibReport, RowsAreMediansWithTheirSpread) {
    const auto rows = result_rows(plan, results, 1e9);
    ASSERT_EQ(rows.size(), 12u);  // off and software, two directions, three links
    const auto& ethernet = rows[0];
    EXPECT_EQ(ethernet["carrier"], "ethernet");
    EXPECT_EQ(ethernet["direction"], "send");
    EXPECT_EQ(ethernet["offload"], "off");
    EXPECT_EQ(ethernet["protocol"], "udp");
    EXPECT_EQ(ethernet["cycles_per_packet"], 110);
    EXPECT_EQ(ethernet["ns_per_packet"], 110);
    EXPECT_DOUBLE_EQ(ethernet["mpps"], 9.090909);
    EXPECT_DOUBLE_EQ(ethernet["gbit_s"], 72.7273);
    EXPECT_DOUBLE_EQ(ethernet["spread_percent"], 181.8);
    EXPECT_FALSE(ethernet.contains("ratio"));
}

TEST_F(IpoibReport, RatiosAreTakenWithinARound) {
    const auto rows = result_rows(plan, results, 1e9);
    EXPECT_EQ(rows[1]["carrier"], "soft_ib");
    EXPECT_EQ(rows[1]["ratio"], 0.25);
    EXPECT_EQ(rows[1]["ratio_spread_percent"], 0) << "a slow round is slow for both";
    EXPECT_EQ(rows[2]["carrier"], "roce2");
    EXPECT_EQ(rows[2]["ratio"], 0.5);
    EXPECT_EQ(rows[4]["direction"], "receive");
    EXPECT_EQ(rows[4]["ratio"], 1);
    EXPECT_EQ(rows[8]["offload"], "software");
}

TEST_F(IpoibReport, OneFigureIsTheGeometricMean) {
    EXPECT_DOUBLE_EQ(results.ratio(Carrier::soft_ib), 0.5);  // of 0.25 and 1
    EXPECT_EQ(ratio_rows(plan, results), cli::Json::parse(R"([{"carrier": "soft_ib", "ratio": 0.5},
        {"carrier": "roce2", "ratio": 0.707}, {"carrier": "all", "ratio": 0.595}])"));
    const auto json = to_json(plan, results, {.cycles_per_second = 1e9});
    EXPECT_EQ(json["ratio"], 0.595);
    EXPECT_EQ(json["traffic"]["rounds"], 3);
    EXPECT_EQ(json["frames"], cli::Json::parse(R"({"sent": 180, "received": 180, "damaged": 0})"));
}

TEST_F(IpoibReport, ARoundThatWasNotFinishedIsLeftOut) {
    results.series().front().add({.send_cycles = 1, .receive_cycles = 1});
    results.keep_whole_rounds();
    EXPECT_EQ(results.rounds(), 3u);
    EXPECT_EQ(results.series().front().send.size(), 3u);
    EXPECT_EQ(to_csv(plan, results, {.cycles_per_second = 1e9}).substr(0, 42),
              "size,protocol,direction,offload,carrier,mp");
}

}  // namespace
}  // namespace verbline::ipoib_bench
