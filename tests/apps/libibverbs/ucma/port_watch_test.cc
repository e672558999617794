// SPDX-License-Identifier: BSD-3-Clause
// Links of the kernel's in a network namespace of the test's own.
#include "apps/libibverbs/ucma/port_watch.h"

#include <algorithm>

#include <net/if.h>

#include "control/host/kernel_neighbour.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "tests/support/namespace.h"

namespace verbline::verbs {
namespace {

const auto first = link::gid_of(wire::ipv4(10, 1, 0, 1)), second_one = link::gid_of(wire::ipv4(10, 1, 0, 2));

struct PortWatchTest : testing::Test {
    /// Whatever comes within a moment; what is waited for comes much sooner.
    void look(std::size_t awaited = 1) {
        for (const Time end = loop->now() + 2 * second; news.size() < awaited && loop->now() < end;) {
            loop->run_once(20 * millisecond);
        }
        for (int i = 0; i < 3; ++i) loop->run_once(10 * millisecond);
    }
    void open() {
        watch = std::move(*PortWatch::open(link, *loop, [this](const auto& each) { news.push_back(each); }));
    }

    OpenedLink link;
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<PortWatch> watch;
    std::vector<PortWatch::News> news;
};

/// On v0, with two addresses.
struct PortWatchOfInterfaceTest : PortWatchTest {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        inside.emplace();
        inside->run("ip link add v0 address 02:00:00:00:00:01 type veth peer name v1");
        inside->run("ip address add 10.1.0.1/24 dev v0");
        inside->run("ip address add 10.1.0.2/24 dev v0");
        inside->enter([this] {
            const auto kernel = host::kernel_addresses("v0").value();
            link.interface = "v0";
            link.ifindex = kernel.ifindex;
            link.mac = kernel.mac;
            link.addresses = kernel.addresses;
            open();
        });
    }
    void look_inside(std::size_t awaited = 1) {
        inside->enter([&] { look(awaited); });
    }

    std::optional<test::Namespace> inside;
};

TEST_F(PortWatchOfInterfaceTest, AnAddressGoesAndComesBack) {
    inside->run("ip address del 10.1.0.2/24 dev v0");
    look_inside();
    ASSERT_EQ(news.size(), 1u);
    EXPECT_EQ(news[0].missing, std::vector{second_one});
    EXPECT_FALSE(news[0].gone);
    inside->run("ip address add 10.1.0.2/24 dev v0");
    look_inside(2);
    ASSERT_EQ(news.size(), 2u);
    EXPECT_TRUE(news[1].missing.empty());
}

TEST_F(PortWatchOfInterfaceTest, AnAddedAddressIsPresent) {
    inside->run("ip address add 10.3.0.1/24 dev v0");
    look_inside();
    ASSERT_EQ(news.size(), 1u);
    EXPECT_TRUE(news[0].missing.empty());
    ASSERT_TRUE(news[0].present);
    EXPECT_EQ(news[0].present->size(), 3u);
    EXPECT_EQ(std::ranges::count(*news[0].present, link::gid_of(wire::ipv4(10, 3, 0, 1)), &InterfaceAddress::gid), 1);
}

TEST_F(PortWatchOfInterfaceTest, LinkStateIsNotReported) {
    inside->run("ip link set v0 up");
    inside->run("ip link set v0 down");
    look_inside(0);
    EXPECT_TRUE(news.empty());
}

TEST_F(PortWatchOfInterfaceTest, ChangedMacRemovesAllAddresses) {
    inside->run("ip link set v0 address 02:00:00:00:00:07");
    look_inside();
    ASSERT_EQ(news.size(), 1u);
    EXPECT_EQ(news[0].missing, (std::vector{first, second_one}));
}

TEST_F(PortWatchOfInterfaceTest, TheEndIsReportedOnce) {
    inside->run("ip link del v0");
    look_inside();
    ASSERT_EQ(news.size(), 1u);
    ASSERT_TRUE(news[0].gone);
    EXPECT_EQ(news[0].gone->what, "the interface v0 is gone; end the program, and start it again when it is back");
    EXPECT_EQ(news[0].missing, (std::vector{first, second_one}));
}

TEST_F(PortWatchTest, OtherLinksReportNothing) {
    open();
    look(0);
    EXPECT_TRUE(news.empty());
}

}  // namespace
}  // namespace verbline::verbs
