// SPDX-License-Identifier: BSD-3-Clause
// On a simulated fabric with a real OpenSM.
#include "apps/libibverbs/port/fabric_watch.h"

#include <algorithm>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pmd/base/clock.h"
#include "tests/support/fabric.h"

namespace verbline::verbs {
namespace {

struct FabricWatchTest : ::testing::Test {
    template <class Done>
    bool until(const Done& done) {
        for (const Time end = monotonic_now() + 20 * second; !done() && monotonic_now() < end;) {
            watch.look(monotonic_now());
            ::poll(nullptr, 0, 5);
        }
        return done();
    }
    bool has(wire::Lid lid) const { return !ports.empty() && ports.back().lid == lid; }

    test::Fabric fabric{test::star(3)};
    const InfinibandLink h2{.host = "H2", .fabric = fabric.name()};
    std::vector<mad::PortFacts> ports;
    int reregistrations = 0;
    FabricWatch watch{[this](const mad::PortFacts& now) { ports.push_back(now); }, [this] { ++reregistrations; }};
};

TEST_F(FabricWatchTest, SaysWhatThePortIsAndWhatChanges) {
    watch.look(monotonic_now());
    EXPECT_TRUE(ports.empty()) << "nothing is to be watched yet";
    watch.watch(h2);
    ASSERT_TRUE(until([&] { return ports.size() == 1; }));
    EXPECT_TRUE(ports.back().active());
    fabric.console("Baselid \"H2\"[1] 20");
    EXPECT_TRUE(until([&] { return has(wire::Lid{20}); }));
    fabric.assign(
        "Default=0x7fff, ipoib, defmember=full : ALL=full, ALL_SWITCHES=full, SELF=full;\n"
        "Blue=0x0001, defmember=full : ALL=full;\n");
    EXPECT_TRUE(until([&] { return std::ranges::count(ports.back().pkeys, wire::PKey{0x8001}) == 1; }));
    EXPECT_EQ(reregistrations, 0);
}

TEST_F(FabricWatchTest, ASubnetManagerThatHasBeenAwayKnowsNothing) {
    watch.watch(h2);
    ASSERT_TRUE(until([&] { return !ports.empty(); }));
    fabric.sm_kill();
    const Time back = monotonic_now() + 2 * second;
    EXPECT_TRUE(until([&] { return monotonic_now() > back; }));
    EXPECT_EQ(reregistrations, 0);
    fabric.configure("subnet_prefix 0xfec0000000000007");
    fabric.sm_start();
    EXPECT_TRUE(until([&] { return reregistrations == 1; }));
    EXPECT_TRUE(until([&] { return ports.back().subnet_prefix == 0xfec0'0000'0000'0007; }));
}

TEST_F(FabricWatchTest, LeavesThePlaceToOthers) {
    watch.watch(h2);
    ASSERT_TRUE(until([&] { return !ports.empty(); }));
    const auto places = [&] { return std::ranges::count(fabric.console("attached"), ':'); };
    const auto with = places();
    watch.leave();
    EXPECT_EQ(places(), with - 1);
    const auto said = ports.size();
    fabric.console("Baselid \"H2\"[1] 20");
    const Time later = monotonic_now() + second;
    EXPECT_TRUE(until([&] { return monotonic_now() > later; }));
    EXPECT_EQ(ports.size(), said);
    watch.watch(h2);
    EXPECT_TRUE(until([&] { return has(wire::Lid{20}); }));
}

TEST_F(FabricWatchTest, AChildThatAbandonsItLeavesItToItsParent) {
    watch.watch(h2);
    ASSERT_TRUE(until([&] { return !ports.empty(); }));
    const auto child = fork();
    if (child == 0) {
        watch.abandon();
        _exit(0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    fabric.console("Baselid \"H2\"[1] 20");
    EXPECT_TRUE(until([&] { return has(wire::Lid{20}); }));
}

}  // namespace
}  // namespace verbline::verbs
