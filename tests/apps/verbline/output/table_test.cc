// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/table.h"

#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

TEST(Table, AlignsTextToTheLeftAndNumbersToTheRight) {
    EXPECT_EQ(render_table(Json::parse(R"([{"port":"lan","rx_packets":7,"state":"up"},
                                           {"port":"ib0-long","rx_packets":123456789012,"state":"down"}])")),
              "PORT        RX PACKETS  STATE\n"
              "lan                  7  up\n"
              "ib0-long  123456789012  down\n");
}

TEST(Table, ShowsColumnsInTheOrderOfTheirFirstAppearance) {
    EXPECT_EQ(render_table(Json::parse(R"([{"b":1},{"a":"x","b":2}])")),
              "B  A\n"
              "1  -\n"
              "2  x\n");
}

TEST(Table, AMissingOrNullValueLeavesAColumnOfNumbersNumeric) {
    EXPECT_EQ(render_table(Json::parse(R"([{"n":"","k":null},{"n":"x","k":1000}])")),
              "N     K\n"
              "      -\n"
              "x  1000\n");
}

TEST(Table, LeavesOutColumnsThatAreEmptyEverywhere) {
    EXPECT_EQ(render_table(Json::parse(R"([{"a":"x","b":"","c":1},{"a":"y","b":"","c":2}])")), "A  C\nx  1\ny  2\n");
}

TEST(Table, WithoutRowsThereIsNoHeader) {
    EXPECT_EQ(render_table(Json::array()), "");
    EXPECT_EQ(render_table(Json::parse("[{}]")), "");
}

TEST(Table, PrintsNoControlCharacters) {
    EXPECT_EQ(render_table(Json::array({{{"name", "a\033[2J\nb\x7f"}}})), "NAME\na?[2J?b?\n");
    EXPECT_EQ(render_table(Json::array({{{"a\033b", 1}}})), "A?B\n  1\n");
    EXPECT_EQ(render_object({{"a\033b", 1}}), "a?b  1\n");
}

TEST(Table, CountsCharactersNotBytes) {
    EXPECT_EQ(render_table(Json::parse(R"([{"name":"é","x":"1"},{"name":"abcde","x":"2"}])")),
              "NAME   X\n"
              "é      1\n"
              "abcde  2\n");
}

TEST(Table, SurvivesBytesThatAreNoText) {
    EXPECT_NE(render_table(Json::array({{{"name", "\xff\xfe"}, {"list", Json::array({"\xff"})}}})), "");
    EXPECT_NE(render_json(Json::array({"\xff"})), "");
}

TEST(Object, IsPrintedAsLines) {
    EXPECT_EQ(render_object(Json::parse(R"({"pid":17,"mtu_bytes":2048})")),
              "pid        17\n"
              "mtu_bytes  2048\n");
}

TEST(Table, CsvHasEveryKeyOfAnyRow) {
    EXPECT_EQ(render_csv(Json::parse(R"([{"a":1,"b":"x,\"y\""},{"c":null,"b":"z"}])")),
              "a,b,c\n1,\"x,\"\"y\"\"\",\n,z,\n");
    EXPECT_EQ(render_csv(Json::array()), "");
}

}  // namespace
}  // namespace verbline::cli
