// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/metrics/exposition.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbline::metrics {
namespace {

using cli::Json;

Json counter(const char* owner, const char* name, Json value, const char* help = "frames") {
    return {{"owner", owner}, {"name", name}, {"value", std::move(value)}, {"help", help}};
}

std::string text(const std::vector<Reading>& readings) {
    return exposition(readings);
}

TEST(Exposition, ACounterHasItsHelpOnceAndItsSeriesTogether) {
    EXPECT_EQ(text({{"gw", "counters", Json::array({counter("ib0", "rx", 7), counter("", "tx", 1, "sent")})},
                    {"other", "counters", Json::array({counter("ib0", "rx", 8, "said otherwise")})}}),
              "# HELP verbline_rx frames\n"
              "# TYPE verbline_rx untyped\n"
              "verbline_rx{name=\"gw\",owner=\"ib0\"} 7\n"
              "verbline_rx{name=\"other\",owner=\"ib0\"} 8\n"
              "# HELP verbline_tx sent\n"
              "# TYPE verbline_tx untyped\n"
              "verbline_tx{name=\"gw\",owner=\"\"} 1\n"
              "# HELP verbline_up 1 for each instance that answers\n"
              "# TYPE verbline_up untyped\n"
              "verbline_up{name=\"gw\"} 1\n"
              "verbline_up{name=\"other\"} 1\n");
}

TEST(Exposition, NumbersOfATableAreMetricsAndItsOtherColumnsAreNot) {
    const Json queue{{"port", "lan"}, {"queue", 1}, {"shard", 1}, {"rx_packets", 5}, {"state", "x"}};
    const auto out = text({{"gw", "queues", Json::array({queue})}});
    EXPECT_NE(out.find("verbline_queue_rx_packets{name=\"gw\",port=\"lan\",queue=\"1\"} 5\n"), out.npos);
    EXPECT_EQ(out.find("verbline_queue_shard"), out.npos);
    EXPECT_EQ(out.find("verbline_queue_queue"), out.npos);
    EXPECT_EQ(out.find("verbline_queue_state"), out.npos);
}

TEST(Exposition, PortsAreUpOrNot) {
    const auto out = text({{"gw", "ports",
                            Json::array({{{"port", "lan"}, {"type", "ethernet"}, {"state", "up"}},
                                         {{"port", "ib0"}, {"type", "ipoib"}, {"state", "down"}}})}});
    EXPECT_NE(out.find("verbline_port_up{name=\"gw\",port=\"lan\",type=\"ethernet\"} 1\n"), out.npos);
    EXPECT_NE(out.find("verbline_port_up{name=\"gw\",port=\"ib0\",type=\"ipoib\"} 0\n"), out.npos);
}

TEST(Exposition, AnInstanceWithoutTablesIsUp) {
    EXPECT_NE(text({{"hub", "", Json::array()}}).find("verbline_up{name=\"hub\"} 1\n"), std::string::npos);
    EXPECT_EQ(text({}), "");
}

/// What another process says cannot add lines, labels or series.
TEST(Exposition, HostileRowsStayInTheirPlace) {
    const auto out = text(
        {{"gw", "counters",
          Json::array({counter("a\"} 1\nb\x01\\", "evil name{}\n", 7, "help\nverbline_x 1\\"), counter("a", "twice", 1),
                       counter("a", "twice", 2), counter("a", "words", "7"), Json{{"value", 3}}})},
         {"gw", "shards", Json::array({1, "x"})},
         {"gw", "queues", Json::array({Json::object()})}});
    EXPECT_NE(out.find("# HELP verbline_evil_name___ help\\nverbline_x 1\\\\\n"), out.npos);
    EXPECT_NE(out.find("verbline_evil_name___{name=\"gw\",owner=\"a\\\"} 1\\nb?\\\\\"} 7\n"), out.npos);
    EXPECT_NE(out.find("verbline_twice{name=\"gw\",owner=\"a\"} 1\n"), out.npos);
    EXPECT_EQ(out.find("verbline_twice{name=\"gw\",owner=\"a\"} 2\n"), out.npos);
    EXPECT_EQ(out.find("words"), out.npos);
    EXPECT_NE(out.find("verbline_{name=\"gw\",owner=\"\"} 3\n"), out.npos);
}

}  // namespace
}  // namespace verbline::metrics
