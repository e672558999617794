// SPDX-License-Identifier: BSD-3-Clause
// A shard with tables other than those by default: they take exactly what they are made for, and count what is more.
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "tests/datapath/router/two_ports.h"

namespace verbline::router::limits {
namespace {

using namespace two_ports;

constexpr std::uint32_t most_routes = 40'000, most_neighbours = 6'000;

/// A /24 of its own for each number.
constexpr forward::Prefix net(std::uint32_t n) {
    return {wire::Ipv4Address{0x1400'0000 + (n << 8)}, 24};
}
/// One of many hosts on the right.
constexpr wire::Ipv4Address host(std::uint32_t n) {
    return wire::Ipv4Address{0x0a04'0000 + n};
}

class ShardLimits : public testing::Test {
protected:
    ShardLimits() {
        EXPECT_TRUE(fib->replace({ipv4(10, 4, 0, 0), 16}, {NextHop::Kind::on_link, right}));
        const auto setup = [](const char* name, auto& link, auto& kernel) {
            return PortSetup{.name = name, .device = &link, .kernel = &kernel, .mtu = 1500};
        };
        for (auto* kernel : {&left_kernel, &right_kernel}) kernel->capabilities().carries = pmd::Carries::ip;
        shard.emplace(
            ShardSetup{.ports = {setup("left", left_link, left_kernel), setup("right", right_link, right_kernel)},
                       .fib = fib.get(),
                       .readers = readers.get(),
                       .pool = test::packet_pool(),
                       .max_neighbours = most_neighbours,
                       .commands = &commands,
                       .events = &events,
                       .wake_control = &wake});
        command(SetEthernet{left, left_mac}), command(SetEthernet{right, right_mac});
    }

    void command(const Command& c) {
        ASSERT_TRUE(commands.push(c));
        shard->poll(0);
    }
    void set_neighbour(wire::Ipv4Address who) {
        command(SetNeighbour{right, link::gid_of(who),
                             link::ethernet_destination(right_mac, bob_mac, wire::ether_type::ipv4)});
    }
    /// Whether what is sent to this address from the left leaves on the right.
    bool reaches(wire::Ipv4Address to) {
        right_link.sent.clear();
        left_link.receive(in_ethernet(left_mac, ip_packet(alice, to)));
        shard->poll(0);
        return right_link.sent.size() == 1;
    }

    test::FibReaders readers = test::fib_readers();
    std::unique_ptr<forward::Fib> fib =
        *forward::Fib::create({.name = "limits", .max_routes = most_routes, .max_long = 64}, *readers);
    test::FakeNetDevice left_link, right_link, left_kernel, right_kernel;
    Ring<Command> commands = std::move(*Ring<Command>::create("limits_commands", 256));
    Ring<Event> events = std::move(*Ring<Event>::create("limits_events", 256));
    EventDescriptor wake = EventDescriptor::make();
    std::optional<Shard> shard;
};

TEST_F(ShardLimits, TakesAsManyRoutesAsItMay) {
    set_neighbour(host(1));
    shard->stop_reading();
    for (std::uint32_t n = 1; n < most_routes; ++n)  // one is that of the hosts
        ASSERT_TRUE(fib->replace(net(n), {NextHop::Kind::via, right, host(1)})) << n;
    EXPECT_EQ(fib->size(), most_routes);
    const auto more = fib->replace(net(0), {NextHop::Kind::via, right, host(1)});
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ENOSPC);
    EXPECT_EQ(more.error().what,
              "20.0.0.0/24: the route table is full, it has 40000 routes; the route is not used until others make "
              "room");
    EXPECT_EQ(fib->counters().routes_refused_full.value(), 1u);

    EXPECT_TRUE(reaches(net(1).address)) << "the first";
    EXPECT_TRUE(reaches(net(most_routes - 1).address)) << "the last";
    EXPECT_FALSE(reaches(net(0).address));

    shard->stop_reading();
    ASSERT_TRUE(fib->replace(net(1), {NextHop::Kind::blackhole})) << "a known one changes";
    ASSERT_TRUE(fib->remove(net(2)));
    ASSERT_TRUE(fib->replace(net(0), {NextHop::Kind::via, right, host(1)})) << "there is room again";
    EXPECT_TRUE(reaches(net(0).address));
    EXPECT_EQ(fib->counters().routes_refused_full.value(), 1u);
}

TEST_F(ShardLimits, KnowsAsManyNeighboursAsItMay) {
    for (std::uint32_t n = 1; n <= most_neighbours; ++n) ASSERT_NO_FATAL_FAILURE(set_neighbour(host(n)));
    EXPECT_EQ(shard->neighbours_refused(), 0u);
    EXPECT_TRUE(reaches(host(1)));
    EXPECT_TRUE(reaches(host(most_neighbours)));

    EXPECT_FALSE(reaches(host(most_neighbours + 1)));
    EXPECT_EQ(shard_counter(*shard, "dropped_neighbours_full"), 1u);
    set_neighbour(host(most_neighbours + 1));
    EXPECT_EQ(shard_counter(*shard, "neighbours_refused"), 1u);
    EXPECT_EQ(shard->neighbours_refused(), 2u);
    EXPECT_EQ(shard_counter(*shard, "dropped_too_many_unresolved"), 0u) << "it was not looked for";
}

}  // namespace
}  // namespace verbline::router::limits
