// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/idle_wait.h"

#include <rte_cycles.h>

#include <gtest/gtest.h>

#include "tests/datapath/router/waiting_shard.h"

namespace verbline::router {
namespace {

using test::EventDevice, test::FakeNetDevice, test::WaitingShard;

constexpr InterfaceId port{0};
constexpr Time retry = 100 * millisecond;

TEST(IdleWait, WantsTheEventsOfAllDevicesOnlyWhileItWaits) {
    EventDevice link;
    WaitingShard router(link);
    EXPECT_TRUE(router.shard->arm(0));
    EXPECT_TRUE(link.wanted && router.kernel.wanted);
    router.shard->disarm();
    EXPECT_FALSE(link.wanted || router.kernel.wanted);
}

TEST(IdleWait, EndsForWhicheverDeviceAndForCommands) {
    EventDevice link;
    WaitingShard router(link);
    const auto ends_by = [&](auto arrive) {
        EXPECT_TRUE(router.shard->arm(0));
        EXPECT_EQ(router.shard->poll(0), Work::idle);
        arrive();
        router.shard->wait(3600 * second);
        router.shard->disarm();
        EXPECT_EQ(router.shard->poll(0), Work::busy);
    };
    for (int i = 0; i < 3; ++i) {
        ends_by([&] { link.arrive(); });
        ends_by([&] { router.kernel.arrive(); });
        ends_by([&] { router.command(SetAddress{port, {}}); });
    }
}

TEST(IdleWait, IsImpossibleWithADeviceThatCannotSignalUnlessItsLinkIsDown) {
    FakeNetDevice link;
    WaitingShard router(link);
    EXPECT_TRUE(router.shard->arm(0)) << "nothing comes from it";
    router.shard->disarm();
    router.command(SetCarrier{port, true});
    router.shard->poll(0);
    EXPECT_FALSE(router.shard->arm(0));
    EXPECT_FALSE(router.kernel.wanted);

    router.command(SetCarrier{port, false});
    router.shard->poll(0);
    EXPECT_FALSE(router.shard->arm(retry - 1)) << "not tried again so soon";
    EXPECT_TRUE(router.shard->arm(retry));
    router.shard->disarm();
}

TEST(IdleWait, IsTimeAsleepAndNoneOfThePolls) {
    EventDevice link;
    WaitingShard router(link);
    constexpr Time time = 20 * millisecond;
    const auto least = rte_get_tsc_hz() / 1000 * 19;
    router.shard->poll(0);
    ASSERT_TRUE(router.shard->arm(0));
    router.shard->wait(time);
    router.shard->disarm();
    const auto waited = router.counter("asleep_cycles");
    EXPECT_GE(waited, least);
    router.shard->nap(time);
    EXPECT_GE(router.counter("asleep_cycles"), waited + least);
    EXPECT_EQ(router.counter("busy_cycles"), 0u);

    const auto asleep = router.counter("asleep_cycles"), idle = router.counter("idle_cycles");
    router.shard->poll(0);
    EXPECT_EQ(router.counter("asleep_cycles"), asleep);
    EXPECT_GT(router.counter("idle_cycles"), idle);
}

TEST(IdleWait, IsImpossibleWhileFramesAreStaged) {
    EventDevice link;
    WaitingShard router(link);
    constexpr wire::MacAddress mac{{std::byte{2}}};
    link.tx_room = 0;
    router.command(SetEthernet{port, mac});
    router.command(Transmit{.port = port,
                            .packet = test::make_packet(test::pattern(60)).release(),
                            .to = link::ethernet_destination(mac, mac, wire::ether_type::ipv4)});
    router.shard->poll(0);
    EXPECT_FALSE(router.shard->arm(0)) << "no event would tell that there is room again";

    link.tx_room = 1;
    router.shard->poll(0);
    EXPECT_TRUE(router.shard->arm(retry));
    router.shard->disarm();
}

}  // namespace
}  // namespace verbline::router
