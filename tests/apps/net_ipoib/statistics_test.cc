// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/statistics.h"

#include <gtest/gtest.h>

namespace verbline::net_ipoib {
namespace {

TEST(Statistics, GrowOverRestarts) {
    Statistics statistics;
    statistics.keep({{"rx_frames", 5}});
    EXPECT_EQ(statistics.since_reset({}).at("rx_frames"), 5u);
    EXPECT_EQ(statistics.since_reset({{"rx_frames", 2}}).at("rx_frames"), 7u);
}

TEST(Statistics, BeginAgainAtAReset) {
    Statistics statistics;
    statistics.keep({{"rx_frames", 5}});
    statistics.reset({{"rx_frames", 2}});
    EXPECT_EQ(statistics.since_reset({{"rx_frames", 3}}).at("rx_frames"), 1u);
    statistics.keep({{"rx_frames", 3}});
    EXPECT_EQ(statistics.since_reset({{"rx_frames", 4}}).at("rx_frames"), 5u);
}

TEST(Statistics, ErrorsAreWhatWasDroppedOfOurs) {
    const auto totals = totals_of({{"rx_frames", 1},
                                   {"rx_frame_bytes", 60},
                                   {"tx_frames", 2},
                                   {"rx_dropped_address", 100},
                                   {"rx_dropped_icrc", 3},
                                   {"rx_dropped_no_mbuf", 4},
                                   {"tx_dropped_vlan", 5},
                                   {"device_rx_dropped_malformed", 50}});
    EXPECT_EQ(
        totals,
        (Totals{.rx_frames = 1, .rx_bytes = 60, .rx_errors = 7, .rx_no_buffer = 4, .tx_frames = 2, .tx_errors = 5}));
}

}  // namespace
}  // namespace verbline::net_ipoib
