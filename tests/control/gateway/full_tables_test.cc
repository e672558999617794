// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/full_tables.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::gateway {
namespace {

class FullTablesTest : public testing::Test {
protected:
    std::vector<std::string> look(std::uint64_t neighbours = 0) {
        lines_.clear();
        full_.look_after(ipv4, ipv6, neighbours);
        return lines_;
    }

    forward::FibCounters ipv4, ipv6;

private:
    std::vector<std::string> lines_;
    FullTables full_{{.routes = 300, .routes_ipv6 = 400, .neighbours = 500, .next_hops = 600},
                     [this](const std::string& line) { lines_.push_back(line); }};
};

using Lines = std::vector<std::string>;

TEST_F(FullTablesTest, SaysNothingWhileThereIsRoom) {
    EXPECT_EQ(look(), Lines{});
}

TEST_F(FullTablesTest, SaysOnceWhichSettingToRaise) {
    ipv4.routes_refused_full.add();
    EXPECT_EQ(look(),
              Lines{"there are 300 IPv4 routes, and others of the kernel's are not used: raise routes in [limits]"});
    ipv4.routes_refused_full.add();
    EXPECT_EQ(look(), Lines{});
    ipv6.routes_refused_full.add();
    EXPECT_EQ(
        look(),
        Lines{"there are 400 IPv6 routes, and others of the kernel's are not used: raise routes_ipv6 in [limits]"});
}

TEST_F(FullTablesTest, NamesEachReason) {
    ipv4.routes_refused_next_hops.add();
    EXPECT_EQ(look(), Lines{"IPv4 routes with more than 600 next hops, or 512 groups of them, are not used: raise "
                            "next_hops in [limits], or let routes share groups"});
    ipv6.routes_refused_long.add();
    EXPECT_EQ(look(), Lines{"too many IPv6 routes are longer than /24, and others of them are not used: raise "
                            "routes_ipv6 in [limits], or merge routes"});
    EXPECT_EQ(look(7), Lines{"a shard knows 500 neighbours, and packets to others are dropped: raise neighbours in "
                             "[limits]"});
    EXPECT_EQ(look(8), Lines{});
}

}  // namespace
}  // namespace verbline::gateway
