// SPDX-License-Identifier: BSD-3-Clause
// How much a configuration may hold: its [limits], and what no setting changes.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/apps/verbline/config/config_fixture.h"

namespace verbline::cli {
namespace config_limits {
namespace {

using test_config::error_of, test_config::valid_text, test_config::with;

/// The valid configuration with `lines` in place of its third line.
std::string with_line_3(const std::string& lines) {
    return with("# a comment", lines);
}

TEST(ConfigLimits, HaveDefaults) {
    const auto config = parse_config(valid_text, "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->limits.routes, 16'384u);
    EXPECT_EQ(config->limits.routes_ipv6, 16'384u);
    EXPECT_EQ(config->limits.neighbours, 4'096u);
    EXPECT_EQ(config->limits.next_hops, 4'096u);
}

TEST(ConfigLimits, AreRead) {
    const auto config = parse_config(with_line_3("[limits]\nroutes = 2_000_000\nroutes_ipv6 = 200_000\n"
                                                 "neighbours = 1_000_000\nnext_hops = 32_000"),
                                     "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->limits.routes, 2'000'000u);
    EXPECT_EQ(config->limits.routes_ipv6, 200'000u);
    EXPECT_EQ(config->limits.neighbours, 1'000'000u);
    EXPECT_EQ(config->limits.next_hops, 32'000u);
}

TEST(ConfigLimits, AreBounded) {
    struct Case {
        const char *lines, *error;
    };
    for (const auto& [lines, error] : {
             Case{"limits = 7", "gw.toml:3: limits must be written as [limits]"},
             Case{"[limits]\nroutes = 2000001", "gw.toml:4: routes must be from 256 to 2000000"},
             Case{"[limits]\nroutes = 255", "gw.toml:4: routes must be from 256 to 2000000"},
             Case{"[limits]\nroutes_ipv6 = 200001", "gw.toml:4: routes_ipv6 must be from 256 to 200000"},
             Case{"[limits]\nneighbours = 1000001", "gw.toml:4: neighbours must be from 64 to 1000000"},
             Case{"[limits]\nnext_hops = 32001", "gw.toml:4: next_hops must be from 64 to 32000"},
             Case{"[limits]\nnext_hops = \"all\"", "gw.toml:4: next_hops must be an integer"},
             Case{"[limits]\ncolour = 7",
                  "gw.toml:4: unknown key colour in [limits]; known: routes, routes_ipv6, neighbours, next_hops"},
         }) {
        EXPECT_EQ(error_of(with_line_3(lines)), error);
    }
}

TEST(ConfigLimits, BoundTheRoutesOfTheFile) {
    const auto route = [](int n) {
        return fmt::format("[[route]]\nto = \"20.0.{}.{}/25\"\nvia = \"10.1.0.7\"\n", n / 2, n % 2 * 128);
    };
    auto text = with_line_3("[limits]\nroutes = 256");
    for (int n = 0; n < 255; ++n) text += route(n);  // and one that was there
    const auto full = parse_config(text, "gw.toml");
    EXPECT_TRUE(full) << full.error().what;
    const auto line = std::ranges::count(text, '\n') + 2;
    EXPECT_EQ(error_of(text + route(255)),
              fmt::format("gw.toml:{}: more than 256 IPv4 routes: raise routes in [limits], to 2000000 at most", line));
}

TEST(ConfigLimits, BoundThePorts) {
    std::string many = "name = \"gw\"\n";
    for (int n = 0; n < 65; ++n)
        many += fmt::format("[[port]]\nname = \"p{0}\"\ntype = \"ethernet\"\ndevice = \"tap:t{0}\"\n", n);
    EXPECT_EQ(error_of(many), "gw.toml:1: more than 64 ports");
}

}  // namespace
}  // namespace config_limits
}  // namespace verbline::cli
