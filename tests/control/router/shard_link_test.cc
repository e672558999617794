// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/shard_link.h"

#include <thread>

#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/support/counter.h"
#include "tests/support/packet.h"

namespace verbline::router {
namespace {

TEST(ShardLink, KeepsOrderAndLosesNothingWhenTheRingIsFull) {
    auto loop = std::move(*control::Loop::create());
    const auto link = std::move(*ShardLink::create(*loop, "full", [](const Event&) {}));
    constexpr unsigned sent = 3000;  // the ring holds 1023
    for (unsigned i = 0; i < sent; ++i) link->send(SetAddress{InterfaceId{}, wire::Ipv4Address{i}});
    unsigned got = 0;
    for (const Time limit = loop->now() + 5 * second; got < sent && loop->now() < limit;
         loop->run_once(10 * millisecond)) {
        while (const auto command = link->commands().pop()) {
            ASSERT_EQ(std::get<SetAddress>(*command).address, wire::Ipv4Address{got++});
        }
    }
    EXPECT_EQ(got, sent);
}

TEST(ShardLink, WakesAShardThatWaitsForCommands) {
    auto loop = std::move(*control::Loop::create());
    const auto link = std::move(*ShardLink::create(*loop, "waits", [](const Event&) {}));
    const auto signalled = [&] {
        pollfd one{.fd = link->shard_signal().descriptor(), .events = POLLIN, .revents = 0};
        return poll(&one, 1, 0) == 1;
    };
    link->send(SetAddress{});
    EXPECT_FALSE(signalled());
    link->shard_signal().prepare_to_wait();
    link->send(SetAddress{});
    EXPECT_TRUE(signalled());
}

TEST(ShardLink, WakesTheLoopForEvents) {
    auto loop = std::move(*control::Loop::create());
    std::vector<wire::Gid> heard;
    const auto link = std::move(*ShardLink::create(*loop, "events", [&](const Event& event) {
        heard.push_back(std::get<Unresolved>(event).address);
        if (heard.size() == 100) loop->stop();
    }));
    std::thread producer([&] {
        for (unsigned i = 0; i < 100; ++i) {
            link->events().push(Unresolved{InterfaceId{}, link::gid_of(wire::Ipv4Address{i})});
            link->wake().signal();
        }
    });
    const auto limit = loop->after(5 * second, [&] { loop->stop(); });
    loop->run();
    producer.join();
    ASSERT_EQ(heard.size(), 100u);
    for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(heard[i], link::gid_of(wire::Ipv4Address{i}));
}

TEST(ShardLink, LeavesTheLoopToOthersBetweenManyEvents) {
    auto loop = std::move(*control::Loop::create());
    unsigned heard = 0;
    const auto link = std::move(*ShardLink::create(*loop, "flood", [&](const Event&) { ++heard; }));
    constexpr unsigned sent = 1000;
    for (unsigned i = 0; i < sent; ++i) ASSERT_TRUE(link->events().push(Unresolved{}));
    link->wake().signal();
    loop->run_once(second);
    EXPECT_GT(heard, 0u);
    EXPECT_LT(heard, sent);
    for (const Time limit = loop->now() + 5 * second; heard < sent && loop->now() < limit;) loop->run_once(second);
    EXPECT_EQ(heard, sent) << "the rest comes without another signal";
}

TEST(ShardLink, IgnoresEventsAfterIgnoreEvents) {
    auto loop = std::move(*control::Loop::create());
    const auto link = std::move(*ShardLink::create(*loop, "stopped", [](const Event&) { FAIL(); }));
    link->events().push(Punted{.packet = test::make_packet(test::pattern(60)).release()});
    link->wake().signal();
    link->ignore_events();
    loop->run_once(0);
    // The test's environment fails if the packet is left.
}

TEST(ShardLink, DropsPacketsForAShardThatIsBehind) {
    auto loop = std::move(*control::Loop::create());
    const auto link = std::move(*ShardLink::create(*loop, "behind", [](const Event&) {}));
    while (link->waiting() == 0) link->send(SetAddress{});
    link->send(Transmit{.packet = test::make_packet(test::pattern(60)).release(), .to = {}});
    EXPECT_EQ(link->waiting(), 1u) << "commands alone wait";
    EXPECT_EQ(test::counter(*link, "control_tx_dropped_shard_busy"), 1u);
    EXPECT_EQ(test::counter(*link, "commands_waiting"), 1u);
}

TEST(ShardLink, FreesThePacketsOfMessagesThatNobodyRead) {
    auto loop = std::move(*control::Loop::create());
    const auto link = std::move(*ShardLink::create(*loop, "leftover", [](const Event&) {}));
    for (int i = 0; i < 2000; ++i) {
        link->send(Transmit{.packet = test::make_packet(test::pattern(60)).release(), .to = {}});
    }
    link->events().push(Punted{.packet = test::make_packet(test::pattern(60)).release()});
    // The test's environment fails if a packet is left.
}

}  // namespace
}  // namespace verbline::router
