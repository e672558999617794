// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/shard_view.h"

#include <string>

#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

Json shard_row(unsigned shard, std::uint64_t busy, std::uint64_t idle, std::uint64_t asleep, std::uint64_t bursts,
               std::uint64_t packets) {
    return {{"shard", shard},          {"busy_cycles", busy}, {"idle_cycles", idle},
            {"asleep_cycles", asleep}, {"bursts", bursts},    {"burst_packets", packets}};
}

TEST(ShardView, SaysHowBusyAShardIsAndWhatAPacketCosts) {
    const auto out = ShardView().read(Json::array({shard_row(0, 2'000, 1'000, 5'000, 4, 10)}));
    EXPECT_EQ(out[0]["busy_pct"], 25.0) << "of the time, also of that in which it slept";
    EXPECT_EQ(out[0]["packets_per_burst"], 2.5);
    EXPECT_EQ(out[0]["cycles_per_packet"], 200);
    EXPECT_EQ(out[0]["share_pct"], 100.0);
    EXPECT_EQ(out[0]["spread"], 1.0);
}

TEST(ShardView, SaysHowEvenlyPacketsAreSpread) {
    const auto out = ShardView().read(
        Json::array({shard_row(0, 1, 1, 0, 1, 600), shard_row(1, 1, 1, 0, 1, 300), shard_row(2, 1, 1, 0, 1, 0)}));
    EXPECT_EQ(out[0]["share_pct"], 66.7);
    EXPECT_EQ(out[0]["spread"], 2.0);
    EXPECT_EQ(out[1]["share_pct"], 33.3);
    EXPECT_EQ(out[1]["spread"], 1.0);
    EXPECT_EQ(out[2]["spread"], 0.0);
}

TEST(ShardView, ComparesWithTheReadingBefore) {
    ShardView view;
    view.read(Json::array({shard_row(0, 1'000'000, 0, 0, 1'000, 1'000), shard_row(1, 0, 1'000, 0, 0, 0)}));
    const auto out =
        view.read(Json::array({shard_row(0, 1'000'100, 900, 0, 1'002, 1'008), shard_row(1, 500, 1'500, 0, 1, 8)}));
    EXPECT_EQ(out[0]["busy_pct"], 10.0);
    EXPECT_EQ(out[0]["packets_per_burst"], 4.0);
    EXPECT_EQ(out[0]["cycles_per_packet"], 13) << "12.5, rounded";
    EXPECT_EQ(out[0]["spread"], 1.0);
    EXPECT_EQ(out[1]["busy_pct"], 50.0);
    EXPECT_EQ(out[1]["share_pct"], 50.0);
}

TEST(ShardView, AnInstanceThatWasRestartedCountsFromItsStart) {
    ShardView view;
    view.read(Json::array({shard_row(0, 1'000, 1'000, 1'000, 10, 10)}));
    const auto out = view.read(Json::array({shard_row(0, 300, 100, 0, 1, 20)}));
    EXPECT_EQ(out[0]["busy_pct"], 75.0);
    EXPECT_EQ(out[0]["packets_per_burst"], 20.0);
}

TEST(ShardView, SaysNothingOfAShardThatDidNothing) {
    const auto out = ShardView().read(Json::array({shard_row(0, 0, 0, 0, 0, 0)}));
    for (const auto* const name : {"busy_pct", "packets_per_burst", "cycles_per_packet", "share_pct", "spread"})
        EXPECT_TRUE(out[0].at(name).is_null()) << name;
}

TEST(ShardView, SaysInBriefWhatMattersAndWhatIsWrong) {
    auto row = shard_row(0, 1, 1, 0, 1, 1);
    row["rx_packets"] = 7;
    row["rx_handed_over"] = 3;
    row["rx_dropped_handover_full"] = row["tx_dropped_handover_full"] = 0;
    row["warning"] = "port lan (socket 1) is served from socket 0";
    const std::string begin =
        R"([{"shard":0,"busy_pct":50.0,"packets_per_burst":1.0,"cycles_per_packet":1,"share_pct":100.0,"spread":1.0,)"
        R"("rx_packets":7,)";
    const std::string end = R"("warning":"port lan (socket 1) is served from socket 0"}])";
    EXPECT_EQ(in_brief(ShardView().read(Json::array({row}))).dump(), begin + end);
    row["tx_dropped_handover_full"] = 5U;
    EXPECT_EQ(in_brief(ShardView().read(Json::array({row}))).dump(), begin + R"("tx_dropped_handover_full":5,)" + end);
}

TEST(ShardView, ForeignRowsDoNoHarm) {
    ShardView view;
    const auto odd = Json::parse(R"([{"shard":"text","busy_cycles":-1},{}])");
    view.read(odd);
    EXPECT_EQ(in_brief(view.read(odd)).size(), 2u);
    for (const auto* const text : {R"([{"shard":1},7])", R"([[]])", R"({"shard":1})", "[null]"}) {
        const auto foreign = Json::parse(text);
        EXPECT_EQ(in_brief(view.read(foreign)), foreign);
    }
    EXPECT_TRUE(view.read(Json::array()).empty());
}

}  // namespace
}  // namespace verbline::cli
