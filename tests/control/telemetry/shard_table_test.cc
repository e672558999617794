// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/shard_table.h"

#include <gtest/gtest.h>

namespace verbline::telemetry {
namespace {

TEST(ShardTable, SumsWhatQueuesHandOverAndTakesWhatIsTheShardsOwn) {
    ShardTotals totals;
    totals.count("polls_busy", 3);
    totals.count("rx_burst_packets", 40);
    totals.count("rx_bursts", 4);
    totals.count("of_something_else", 99);
    totals.count_handover("rx_handed_over", 5);
    totals.count_handover("member1_rx_handed_over", 6);
    totals.count_handover("tx_dropped_handover_full", 7);
    totals.commands_waiting = 8;
    const auto row = shard_row(2, 0, totals, "look at it");
    EXPECT_EQ(row["shard"], 2);
    EXPECT_EQ(row["polls_busy"], 3);
    EXPECT_EQ(row["burst_packets"], 40);
    EXPECT_EQ(row["bursts"], 4);
    EXPECT_EQ(row["rx_handed_over"], 11);
    EXPECT_EQ(row["tx_dropped_handover_full"], 7);
    EXPECT_EQ(row["rx_taken_over"], 0);
    EXPECT_EQ(row["commands_waiting"], 8);
    EXPECT_EQ(row["warning"], "look at it");
}

}  // namespace
}  // namespace verbline::telemetry
