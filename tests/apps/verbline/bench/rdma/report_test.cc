// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/report.h"

#include <gtest/gtest.h>

namespace verbline::rdma_bench {
namespace {

RdmaPlan planned(auto&& change) {
    RdmaTexts texts{.link = "memif:x", .server = "10.0.0.1"};
    change(texts);
    return make_plan(texts).value();
}

RoundResult bandwidth() {
    return {.round = {.size = 65536, .iterations = 5000},
            .iterations = 5000,
            .ours = {.messages = 5000, .elapsed = second / 2, .peak_nanoseconds = 50'000.},
            .sent = 5000};
}

TEST(RdmaReport, HeadersArePerftests) {
    EXPECT_EQ(header_line(planned([](auto&) {})),
              " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n");
    EXPECT_EQ(header_line(planned([](auto& t) { t.gigabits = true; })),
              " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n");
    EXPECT_EQ(
        header_line(planned([](auto& t) { t.latency = true; })),
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
        "percentile[usec]   99.9% percentile[usec] \n");
    EXPECT_EQ(header_line(planned([](auto& t) { t.latency = true, t.duration = 1; })),
              " #bytes        #iterations       t_avg[usec]    tps average\n");
}

TEST(RdmaReport, BandwidthIsInUnitsOf2To20Bytes) {
    const auto megabytes = planned([](auto&) {});
    EXPECT_EQ(row_line(megabytes, bandwidth()),
              " 65536      5000           1250.00            625.00               0.010000\n");
    EXPECT_EQ(csv_header(megabytes) + csv_row(megabytes, bandwidth()),
              "#bytes,#iterations,BW peak[MB/sec],BW average[MB/sec],MsgRate[Mpps]\n"
              "65536,5000,1250.00,625.00,0.010000\n");
    const auto row = result_row(planned([](auto& t) { t.gigabits = true; }), bandwidth());
    EXPECT_EQ(row["BW_peak"], 10.49);
    EXPECT_EQ(row["BW_average"], 5.24);
}

TEST(RdmaReport, BothDirectionsAreAdded) {
    auto result = bandwidth();
    result.theirs = {.messages = 5000, .elapsed = second, .peak_nanoseconds = 100'000.};
    const auto row = result_row(planned([](auto& t) { t.bidirectional = true; }), result);
    EXPECT_EQ(row["BW_peak"], 1875);
    EXPECT_EQ(row["BW_average"], 937.5);
    EXPECT_EQ(row["MsgRate"], 0.015);
}

TEST(RdmaReport, LatencyHasPerftestsKeys) {
    const RoundResult result{.round = {.size = 8, .iterations = 1000},
                             .iterations = 1000,
                             .latency = {1, 2, 3, 4, 5, 6, 7},
                             .elapsed = second / 100};
    EXPECT_EQ(result_row(planned([](auto& t) { t.latency = true; }), result).dump(),
              R"({"MsgSize":8,"n_iterations":1000,"t_min":1.0,"t_max":2.0,"t_typical":3.0,"t_avg":4.0,)"
              R"("t_stdev":5.0,"percentile_99":6.0,"percentile_99.9":7.0})");
    EXPECT_EQ(result_row(planned([](auto& t) { t.latency = true, t.duration = 1; }), result).dump(),
              R"({"MsgSize":8,"n_iterations":1000,"t_avg":4.0,"tps_average":100000.0})");
}

TEST(RdmaReport, PathsOfAFabricAreByLid) {
    const auto info = client_json(planned([](auto&) {}), {.mtu = 2048, .infiniband = true}, {}, {})["test_info"];
    EXPECT_EQ(info["Link_type"], "IB");
    EXPECT_FALSE(info.contains("GID_index")) << "as perftest has it";
}

TEST(RdmaReport, JsonHasPerftestsObjectsAndTheMachine) {
    const auto given = planned([](auto& t) { t.operation = "send", t.transport = "UC", t.pairs = 2; });
    auto lossy = bandwidth();
    lossy.delivered = 4999;
    const std::vector<RoundResult> results{bandwidth(), lossy};
    const auto json = client_json(given, {.mtu = 1024, .gid_index = 3}, results, {{"cpus", 2}});
    EXPECT_EQ(json["test_info"]["test"], "Send_BW_Test");
    EXPECT_EQ(json["test_info"]["Connection_type"], "UC");
    EXPECT_EQ(json["test_info"]["Number_of_qps"], 2);
    EXPECT_EQ(json["test_info"]["Mtu"], 1024);
    EXPECT_EQ(json["test_info"]["GID_index"], 3);
    EXPECT_EQ(json["test_info"]["Link_type"], "Ethernet");
    EXPECT_EQ(json["results"]["n_iterations"], 5000);
    EXPECT_EQ(json["rounds"].size(), 2u);
    EXPECT_EQ(json["rounds"][1]["delivered"], 4999);
    EXPECT_EQ(json["machine"]["cpus"], 2);
}

TEST(RdmaReport, TestsAreNamedAsPerftestNamesThem) {
    const auto name = [](auto&& change) {
        const std::vector<RoundResult> none;
        return client_json(planned(change), {}, none, {})["test_info"]["test"];
    };
    EXPECT_EQ(name([](auto& t) { t.bidirectional = true, t.post_list = 2; }),
              "RDMA_Write_Bidirectional_Post_List_BW_Test");
    EXPECT_EQ(name([](auto& t) { t.operation = "atomic", t.latency = true; }), "Atomic_FETCH_AND_ADD_Latency_Test");
}

}  // namespace
}  // namespace verbline::rdma_bench
