// SPDX-License-Identifier: BSD-3-Clause
// Against the kernel, in a network namespace made for each test.
#include "control/host/interface_watch.h"

#include <net/if.h>

#include <gtest/gtest.h>

#include "tests/support/namespace.h"

namespace verbline::host {
namespace {

using News = InterfaceWatch::News;

struct InterfaceWatchTest : testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        inside.emplace();
        inside->run("ip link add v0 type veth peer name v1");
        inside->run("ip link set v0 up");
        inside->enter([this] { watch.emplace(InterfaceWatch::open(if_nametoindex("v0")).value()); });
        EXPECT_EQ(watch->receive().value(), News::nothing);
    }
    /// What a command does to v0. The kernel tells of it before the command ends.
    News news_of(const std::string& command) {
        inside->run(command);
        return watch->receive().value();
    }

    std::optional<test::Namespace> inside;
    std::optional<InterfaceWatch> watch;
};

TEST_F(InterfaceWatchTest, AddressesOfBothFamiliesComeAndGo) {
    for (const auto* address : {"10.1.0.1/24", "fd00::1/64"}) {
        EXPECT_EQ(news_of(std::string("ip address add dev v0 ") + address), News::changed) << address;
        EXPECT_EQ(news_of(std::string("ip address del dev v0 ") + address), News::changed) << address;
    }
}

TEST_F(InterfaceWatchTest, ReportsLinkAndMacChanges) {
    EXPECT_EQ(news_of("ip link set v0 down"), News::changed);
    EXPECT_EQ(news_of("ip link set v0 address 02:00:00:00:00:07"), News::changed);
}

TEST_F(InterfaceWatchTest, IgnoresOtherInterfaces) {
    EXPECT_EQ(news_of("ip link add v2 type veth peer name v3"), News::nothing);
    EXPECT_EQ(news_of("ip address add 10.2.0.1/24 dev v2"), News::nothing);
    EXPECT_EQ(news_of("ip link del v2"), News::nothing);
}

TEST_F(InterfaceWatchTest, ReportsGoneAfterMoveToAnotherNamespace) {
    test::Namespace other;
    EXPECT_EQ(news_of("ip link set v0 netns " + other.path()), News::gone);
}

TEST_F(InterfaceWatchTest, ItIsGoneWithItsPeer) {
    EXPECT_EQ(news_of("ip link del v1"), News::gone);
}

TEST_F(InterfaceWatchTest, ABridgeThatLetsItGoIsNoEnd) {
    inside->run("ip link add b0 type bridge");
    EXPECT_EQ(news_of("ip link set v0 master b0"), News::changed);
    EXPECT_EQ(news_of("ip link set v0 nomaster"), News::changed);
}

}  // namespace
}  // namespace verbline::host
