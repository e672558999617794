// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/page.h"

#include <gtest/gtest.h>

#include "tests/apps/verbline/report/samples.h"

namespace verbline::report {
namespace {

constexpr Assets assets_of_test{.library = "library()",
                                .script = "script()",
                                .style = "style {}",
                                .licence = "licence",
                                .library_hash = "sha256-l",
                                .script_hash = "sha256-s",
                                .style_hash = "sha256-c"};

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
}

TEST(Page, HostileStringsStayInsideOfTheData) {
    auto document = packet_json();
    document["machine"]["cpu"] = "</script><script>alert(1)</script><!-- & ]]>";
    document["role"] = "</SCRIPT >";
    const auto page = make_page({read<PacketRun>(document, "</script>.json")}, "<b>&\"</b>", "verbline");
    const auto html = to_html(page, assets_of_test);
    EXPECT_EQ(count(html, "</script>"), 3u) << "data, library, ours";
    EXPECT_EQ(count(html, "<script"), 3u);
    EXPECT_EQ(count(html, "<!--"), 1u) << "the licence";
    EXPECT_NE(html.find("<title>&lt;b&gt;&amp;&quot;&lt;/b&gt;</title>"), html.npos);
}

TEST(Page, DataIsTheModel) {
    const Json value{{"text", "</script><!-- & \xff"}, {"number", 1.5}};
    const auto text = embedded_json(value);
    EXPECT_EQ(text.find_first_of("<>&"), text.npos);
    const auto again = Json::parse(text);
    EXPECT_EQ(again["text"], "</script><!-- & \xef\xbf\xbd") << "bytes that are no UTF-8 are replaced";
    EXPECT_EQ(again["number"], 1.5);
}

TEST(Page, LoadsNothingAndRunsItsOwnScriptsAlone) {
    const auto html = to_html(make_page({}, "t", "m"), assets_of_test);
    EXPECT_NE(
        html.find("content=\"default-src 'none'; script-src 'sha256-l' 'sha256-s'; style-src 'sha256-c'; base-uri "
                  "'none'; form-action 'none'\""),
        html.npos);
    EXPECT_LT(html.find("Content-Security-Policy"), html.find("<style>"));
}

TEST(Page, RecordsOfOneMachineAreOne) {
    const auto page = make_page({read<PacketRun>(packet_json(), "a"), read<PacketRun>(packet_json(), "b"),
                                 read<RdmaRun>(rdma_json(), "c"), read<Comparison>(comparison_json(), "d")},
                                "t", "m");
    EXPECT_EQ(page.files, (std::vector<std::string>{"a", "b", "c", "d"}));
    ASSERT_EQ(page.records.size(), 2u);
    EXPECT_EQ(page.records[0].title, "A CPU, CPUs: 2");
    const auto& facts = page.records[0].tables.at(0);
    EXPECT_EQ(facts.rows.at(0), (std::vector<Json>{"files", "a, b"}));
    EXPECT_EQ(facts.rows.at(3), (std::vector<Json>{"hugepages", "node 0, page_kb 2048, total 4, free 3"}));
    EXPECT_EQ(page.records[0].tables.at(1).rows.at(0), (std::vector<Json>{"warning", "memory", "little", "more"}));
    EXPECT_EQ(page.records[0].tables.at(2).title, "Ports of a");
}

TEST(Page, FiguresAndResultsOfAllKinds) {
    const auto page = make_page({read<PacketRun>(packet_json()), read<RdmaRun>(rdma_json()),
                                 read<IpoibRun>(ipoib_json()), read<Comparison>(comparison_json()),
                                 std::get<History>(read_text("h", past_run_json().dump()).value().front())},
                                "t", "m");
    std::vector<std::string> ids;
    for (const auto& figure : page.figures) ids.push_back(figure.id);
    EXPECT_EQ(ids, (std::vector<std::string>{"latency-percentiles", "latency-histogram", "spread-over-queues",
                                             "throughput-by-message-size", "rate-by-message-size", "ipoib-ratio",
                                             "ipoib-time", "comparison-1", "history-1"}));
    EXPECT_EQ(page.results.size(), 3u);
}

TEST(Page, TablesLoseColumnsThatAreEmpty) {
    const auto table = without_empty_columns(
        {.title = "t", .columns = {"a", "b", "c"}, .rows = {{1, nullptr, ""}, {2, nullptr, "x"}}});
    EXPECT_EQ(table.columns, (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(table.rows[1], (std::vector<Json>{2, "x"}));
}

TEST(Page, FarValuesAreOnALogarithmicAxis) {
    EXPECT_EQ(value_scale({{.name = "", .points = {{.x = 0, .y = 1}, {.x = 1, .y = 50}}}}), Scale::linear);
    EXPECT_EQ(value_scale({{.name = "", .points = {{.x = 0, .y = 1}, {.x = 1, .y = 51}}}}), Scale::log10);
    EXPECT_EQ(value_scale({{.name = "", .points = {{.x = 0, .y = 0}, {.x = 1, .y = 51}}}}), Scale::linear);
}

}  // namespace
}  // namespace verbline::report
