// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/packet_program/program_request.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

using ProgramWords = std::vector<std::string>;

Json requested(const ProgramWords& words, const ProgramOptions& options = {}) {
    const auto asked = program_request(words, options);
    EXPECT_TRUE(asked) << asked.error().what;
    const auto* const requests = asked ? std::get_if<ProgramRequests>(&*asked) : nullptr;
    if (requests == nullptr || requests->size() != 1) return nullptr;
    return requests->front();
}
std::string table_asked(const ProgramWords& words) {
    const auto asked = program_request(words, {});
    EXPECT_TRUE(asked) << asked.error().what;
    const auto* const table = asked ? std::get_if<ProgramTable>(&*asked) : nullptr;
    return table == nullptr ? "none" : std::string(table->table) + " " + table->port;
}
std::string mistake(const ProgramWords& words, const ProgramOptions& options = {}) {
    const auto asked = program_request(words, options);
    EXPECT_FALSE(asked);
    return asked ? "" : asked.error().what;
}

TEST(ProgramRequest, WhatIsReadAreTables) {
    EXPECT_EQ(table_asked({}), "programs ");
    EXPECT_EQ(table_asked({"show", "lan"}), "programs lan");
    EXPECT_EQ(table_asked({"counters"}), "program_counters ");
    EXPECT_EQ(table_asked({"prefix", "list", "lan"}), "program_prefixes lan");
}

TEST(ProgramRequest, FilesAreNamedFromTheRoot) {
    EXPECT_EQ(requested({"load", "lan", "/etc/../etc/drop.o"}),
              (Json{{"command", "program_load"}, {"port", "lan"}, {"file", "/etc/drop.o"}, {"section", ""}}));
    EXPECT_EQ(requested({"replace", "lan", "drop.o"}, {.section = "drop", .value = {}}),
              (Json{{"command", "program_replace"},
                    {"port", "lan"},
                    {"file", (std::filesystem::current_path() / "drop.o").string()},
                    {"section", "drop"}}));
    EXPECT_EQ(requested({"unload", "lan"}), (Json{{"command", "program_unload"}, {"port", "lan"}}));
}

TEST(ProgramRequest, ManyPrefixesAreSeveralRequests) {
    EXPECT_EQ(requested({"prefix", "add", "lan", "10.9.0.0/16", "fd76:9::/32"}, {.section = "", .value = 7}),
              (Json{{"command", "program_prefix_add"},
                    {"port", "lan"},
                    {"prefixes", {"10.9.0.0/16", "fd76:9::/32"}},
                    {"value", 7}}));
    ProgramWords words{"prefix", "delete", "lan"};
    for (std::size_t i = 0; i < 2 * prefixes_in_request + 1; ++i) words.push_back("10.0.0.0/8");
    const auto asked = program_request(words, {});
    ASSERT_TRUE(asked);
    const auto& requests = std::get<ProgramRequests>(*asked);
    ASSERT_EQ(requests.size(), 3u);
    EXPECT_EQ(requests[0]["prefixes"].size(), prefixes_in_request);
    EXPECT_EQ(requests[2]["prefixes"].size(), 1u);
    EXPECT_FALSE(requests[0].contains("value"));
}

TEST(ProgramRequest, MistakesAreOneLine) {
    EXPECT_EQ(mistake({"dorp"}), "program: dorp is none of show, counters, load, replace, unload and prefix");
    EXPECT_EQ(mistake({"load", "lan"}), "program: load is followed by PORT FILE");
    EXPECT_EQ(mistake({"unload"}), "program: unload is followed by PORT");
    EXPECT_EQ(mistake({"prefix"}), "program: prefix is followed by add, delete or list");
    EXPECT_EQ(mistake({"prefix", "add", "lan"}), "program: prefix add is followed by PORT PREFIX...");
    EXPECT_EQ(mistake({"show", "a", "b"}), "program: show is followed by one port at most");
    EXPECT_EQ(mistake({"unload", "lan"}, {.section = "x", .value = {}}), "program: --section is for load and replace");
    EXPECT_EQ(mistake({"prefix", "delete", "lan", "::/0"}, {.section = "", .value = 1}),
              "program: --value is for prefix add");
}

TEST(ProgramRequest, RowsOfOnePort) {
    const Json rows{{{"port", "lan"}, {"value", 1}}, {{"port", "ib0"}, {"value", 2}}};
    EXPECT_EQ(rows_of_port(rows, ""), rows);
    EXPECT_EQ(rows_of_port(rows, "ib0"), (Json::array({{{"port", "ib0"}, {"value", 2}}})));
    EXPECT_EQ(rows_of_port(rows, "none"), Json::array());
}

}  // namespace
}  // namespace verbline::cli
