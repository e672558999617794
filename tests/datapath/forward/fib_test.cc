// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/fib.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <rte_rcu_qsbr.h>

#include <gtest/gtest.h>

#include "tests/datapath/forward/fib_fixture.h"
#include "tests/support/eal.h"

namespace verbline::forward::fibs {
namespace {

TEST_F(FibTest, HasNoRouteAtFirst) {
    const auto fib = make();
    EXPECT_EQ(lookup(*fib, ipv4(10, 0, 0, 1)).kind, NextHop::Kind::unreachable);
    EXPECT_TRUE(fib->routes().empty());
}

TEST_F(FibTest, PrefersTheLongestPrefix) {
    const auto fib = make();
    ASSERT_TRUE(fib->replace({ipv4(0, 0, 0, 0), 0}, via(1)));
    ASSERT_TRUE(fib->replace({ipv4(10, 2, 0, 0), 16}, via(2)));
    ASSERT_TRUE(fib->replace({ipv4(10, 2, 3, 0), 24}, on_link));
    ASSERT_TRUE(fib->replace({ipv4(10, 2, 3, 7), 32}, local));
    EXPECT_EQ(lookup(*fib, ipv4(1, 2, 3, 4)), via(1));
    EXPECT_EQ(lookup(*fib, ipv4(10, 2, 4, 1)), via(2));
    EXPECT_EQ(lookup(*fib, ipv4(10, 2, 3, 6)), on_link);
    EXPECT_EQ(lookup(*fib, ipv4(10, 2, 3, 7)), local);
    ASSERT_TRUE(fib->remove({ipv4(10, 2, 3, 7), 32}));
    ASSERT_TRUE(fib->remove({ipv4(10, 2, 0, 0), 16}));
    EXPECT_EQ(lookup(*fib, ipv4(10, 2, 3, 7)), on_link);
    EXPECT_EQ(lookup(*fib, ipv4(10, 2, 4, 1)), via(1));
    const std::vector<Route> rest{{{ipv4(0, 0, 0, 0), 0}, via(1)}, {{ipv4(10, 2, 3, 0), 24}, on_link}};
    EXPECT_EQ(fib->routes(), rest);
}

TEST_F(FibTest, SaysWhatIsWrong) {
    const auto fib = make();
    ASSERT_TRUE(fib->replace({ipv4(10, 0, 0, 0), 8}, on_link));
    EXPECT_EQ(fib->remove({ipv4(10, 0, 0, 0), 9}).error().code, ENOENT);
    EXPECT_EQ(fib->replace({ipv4(10, 0, 0, 0), 33}, local).error().code, EINVAL);
    EXPECT_EQ(fib->replace({ipv4(10, 0, 0, 1), 31}, local).error().what,
              "10.0.0.1/31: bits behind the prefix are set; give the network's address");
    EXPECT_EQ(lookup(*fib, ipv4(10, 0, 0, 1)), on_link);
}

NextHopGroup group_of(std::initializer_list<unsigned> gateways) {
    std::vector<NextHopGroup::Member> members;
    for (const auto n : gateways) members.push_back({via(n)});
    return NextHopGroup(std::move(members));
}

TEST_F(FibTest, LeadsToGroups) {
    const auto fib = make({.max_next_hops = 4, .max_groups = 2});
    const auto to = ipv4(10, 0, 0, 1);
    const Prefix net{ipv4(10, 0, 0, 0), 8};
    const auto number = [&] {
        Fib::Index hop{};
        fib->lookup({&to, 1}, {&hop, 1});
        return hop;
    };
    ASSERT_TRUE(fib->replace(net, via(1)));
    EXPECT_FALSE(fib->groups().any());
    ASSERT_TRUE(fib->replace(net, group_of({1, 2})));
    ASSERT_TRUE(fib->groups().any() && fib->groups().holds(number()));
    for (std::uint32_t slot = 0; slot < 256; ++slot) {
        const auto member = fib->groups().member(number(), slot << 24);
        EXPECT_LT(member, fib->max_next_hops());
        EXPECT_TRUE(fib->next_hop(member) == via(1) || fib->next_hop(member) == via(2));
    }
    EXPECT_EQ(fib->routes(), (std::vector<Route>{{net, group_of({2, 1})}}));

    for (unsigned i = 0; i < 20; ++i) {  // numbers are used again
        ASSERT_TRUE(fib->replace(net, i % 2 == 0 ? group_of({1, 3}) : group_of({1, 2, 3})));
    }
    EXPECT_EQ(code(fib->replace({ipv4(11, 0, 0, 0), 8}, group_of({1, 4}))), ENOSPC) << "three next hops";
    ASSERT_TRUE(fib->remove({ipv4(11, 0, 0, 0), 8})) << "or it would be used later";
    ASSERT_TRUE(fib->replace(net, via(2)));
    EXPECT_EQ(lookup(*fib, to), via(2));
    ASSERT_TRUE(fib->remove(net));
    fib->advance();
    EXPECT_FALSE(fib->groups().any());
}

/// The rule itself, over all routes.
NextHop naive_lookup(const std::map<Prefix, NextHop>& routes, Ipv4Address address) {
    for (int length = 32; length >= 0; --length) {
        const auto mask = length == 0 ? 0 : ~std::uint32_t{0} << (32 - length);
        const Prefix prefix{Ipv4Address{static_cast<std::uint32_t>(address) & mask}, static_cast<std::uint8_t>(length)};
        if (const auto route = routes.find(prefix); route != routes.end()) return route->second;
    }
    return {};
}

TEST_F(FibTest, AgreesWithTheNaiveLookupThroughRandomChanges) {
    const auto fib = make();
    std::mt19937 random(7);
    std::map<Prefix, NextHop> routes;
    // Few bits vary, so that prefixes nest, tbl8 groups come and go, and next hops are shared and given up.
    const auto address = [&] { return 0x0a00'0000 | (random() & 0x0003'03ff); };
    for (int step = 0; step < 3000; ++step) {
        const auto length = static_cast<std::uint8_t>(random() % 4 == 0 ? random() % 33 : 20 + random() % 13);
        const auto mask = length == 0 ? 0 : ~std::uint32_t{0} << (32 - length);
        const Prefix prefix{Ipv4Address{static_cast<std::uint32_t>(address() & mask)}, length};
        if (routes.contains(prefix) && random() % 2 == 0) {
            ASSERT_TRUE(fib->remove(prefix));
            routes.erase(prefix);
        } else {
            const auto hop = via(static_cast<unsigned>(random() % 20));
            ASSERT_TRUE(fib->replace(prefix, hop));
            routes[prefix] = hop;
        }
        std::array<Ipv4Address, 200> to;
        std::array<Fib::Index, 200> hops;
        for (auto& a : to) a = Ipv4Address{static_cast<std::uint32_t>(address())};
        fib->lookup(to, hops);
        for (std::size_t i = 0; i < to.size(); ++i)
            ASSERT_EQ(fib->next_hop(hops[i]), naive_lookup(routes, to[i])) << "step " << step;
    }
    EXPECT_EQ(fib->size(), routes.size());
}

/// A shard that never stops looking, while routes under it change in every way that recycles numbers and tbl8 groups.
TEST_F(FibTest, AReaderSeesEachChangeWholeOrNotAtAll) {
    const auto fib = make({.max_routes = 1024, .max_long = 3, .max_next_hops = 8});
    ASSERT_TRUE(fib->replace({ipv4(10, 0, 0, 0), 8}, via(0)));
    ASSERT_TRUE(fib->replace({ipv4(10, 1, 1, 0), 25}, via(1)));

    std::atomic<unsigned> rounds = 0, wrong = 0;
    ASSERT_EQ(rte_rcu_qsbr_thread_register(readers_, 0), 0);
    rte_rcu_qsbr_thread_online(readers_, 0);
    std::jthread shard([&](const std::stop_token& stop) {
        const std::array to{ipv4(10, 9, 9, 9), ipv4(10, 1, 1, 1), ipv4(10, 1, 2, 1), ipv4(10, 1, 3, 1)};
        std::array<Fib::Index, 4> hops;
        while (!stop.stop_requested()) {
            fib->lookup(to, hops);
            // The default, the fixed one; two that come and go, each with its own next hops.
            const auto is = [&](std::size_t i, unsigned residue) {
                const auto& hop = fib->next_hop(hops[i]);
                return hop == via(0) || static_cast<std::uint32_t>(hop.gateway) % 4 == residue;
            };
            if (fib->next_hop(hops[0]) != via(0) || fib->next_hop(hops[1]) != via(1) || !is(2, 2) || !is(3, 3)) ++wrong;
            ++rounds;
            rte_rcu_qsbr_quiescent(readers_, 0);
            std::this_thread::yield();
        }
        rte_rcu_qsbr_thread_offline(readers_, 0);
    });
    for (unsigned i = 1; i <= 300; ++i) {
        const Prefix two{ipv4(10, 1, 2, 0), static_cast<std::uint8_t>(25 + i % 8)}, three{ipv4(10, 1, 3, 0), 26};
        ASSERT_TRUE(fib->replace(two, via(4 * i + 2)));
        ASSERT_TRUE(fib->replace(three, via(4 * i + 3)));
        ASSERT_TRUE(fib->remove(two));
        if (i % 2 == 0) {
            ASSERT_TRUE(fib->remove(three));
        }
        // The writer does not wait for the shard, so it might be done before the shard has looked once.
        for (const unsigned seen = rounds; i % 4 == 0 && rounds == seen;) std::this_thread::yield();
    }
    shard.request_stop();
    shard.join();
    fib->advance();
    EXPECT_GT(rounds, 0u);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(fib->waiting(), 0u);
    EXPECT_EQ(fib->size(), 2u);
}

/// A shard that goes on only when it is told to.
class FibAndAShardTest : public FibTest {
protected:
    FibAndAShardTest() {
        EXPECT_EQ(rte_rcu_qsbr_thread_register(readers_, 0), 0);
        rte_rcu_qsbr_thread_online(readers_, 0);
    }
    ~FibAndAShardTest() override { rte_rcu_qsbr_thread_offline(readers_, 0); }

    void poll(Fib& fib) {
        rte_rcu_qsbr_quiescent(readers_, 0);
        fib.advance();
    }
};

constexpr Prefix net(unsigned n, std::uint8_t length = 24) {
    return {Ipv4Address{0x0a00'0000 + (n << 8)}, length};
}
Ipv4Address host_in(unsigned n) {
    return Ipv4Address{0x0a00'0001 + (n << 8)};
}

TEST_F(FibAndAShardTest, ChangesNothingThatTheShardMayBeReadingAndDoesNotWait) {
    const auto fib = make();
    ASSERT_TRUE(fib->replace(net(1), via(1)));
    EXPECT_EQ(lookup(*fib, host_in(1)), via(1)) << "nobody reads the idle table";
    ASSERT_TRUE(fib->replace(net(2), via(2)));
    fib->advance();
    EXPECT_EQ(fib->waiting(), 1u);
    EXPECT_EQ(lookup(*fib, host_in(2)).kind, NextHop::Kind::unreachable);
    EXPECT_EQ(fib->routes(), (std::vector<Route>{{net(1), via(1)}})) << "as packets find them";
    poll(*fib);
    EXPECT_EQ(fib->waiting(), 0u);
    EXPECT_EQ(lookup(*fib, host_in(1)), via(1));
    EXPECT_EQ(lookup(*fib, host_in(2)), via(2));
}

TEST_F(FibAndAShardTest, MakesAllThatWaitsOnceTheShardGoesOn) {
    const auto fib = make({.max_routes = 16'384});
    constexpr unsigned many = 16'000;
    for (unsigned n = 0; n < many; ++n) ASSERT_TRUE(fib->replace(net(n), via(n % 1000)));
    EXPECT_EQ(fib->waiting(), many - 1);
    poll(*fib);
    EXPECT_EQ(fib->size(), many);
    for (unsigned n = 0; n < many; ++n) ASSERT_EQ(lookup(*fib, host_in(n)), via(n % 1000));

    ASSERT_TRUE(fib->replace(net(0), local));
    poll(*fib);
    for (unsigned n = 1; n < many; ++n) ASSERT_EQ(lookup(*fib, host_in(n)), via(n % 1000)) << "in the other table too";
    EXPECT_EQ(lookup(*fib, host_in(0)), local);
}

TEST_F(FibAndAShardTest, OfSeveralChangesOfARouteTheLastCounts) {
    const auto fib = make();
    ASSERT_TRUE(fib->replace(net(0), local));
    ASSERT_TRUE(fib->replace(net(1), via(1)));
    ASSERT_TRUE(fib->remove(net(1))) << "it waits, but it was asked for";
    EXPECT_EQ(fib->remove(net(1)).error().code, ENOENT);
    ASSERT_TRUE(fib->replace(net(2), via(1)));
    ASSERT_TRUE(fib->replace(net(2), via(2)));
    ASSERT_TRUE(fib->remove(net(0)));
    ASSERT_TRUE(fib->replace(net(0), on_link));
    EXPECT_EQ(fib->waiting(), 3u) << "one for each prefix, however long the shard stands still";
    poll(*fib);
    EXPECT_EQ(fib->routes(), (std::vector<Route>{{net(0), on_link}, {net(2), via(2)}}));
    EXPECT_EQ(lookup(*fib, host_in(1)).kind, NextHop::Kind::unreachable);
}

/// What is asked for while others wait comes after them, even if the shard has gone on meanwhile.
TEST_F(FibAndAShardTest, KeepsTheOrderOfChanges) {
    const auto fib = make();
    ASSERT_TRUE(fib->replace(net(0), local));
    ASSERT_TRUE(fib->replace(net(1), via(1)));
    rte_rcu_qsbr_quiescent(readers_, 0);
    ASSERT_TRUE(fib->replace(net(1), via(2)));
    EXPECT_EQ(lookup(*fib, host_in(1)), via(1));
    poll(*fib);
    EXPECT_EQ(lookup(*fib, host_in(1)), via(2));
}

TEST_F(FibAndAShardTest, SaysLaterWhatTheTableHasNoRoomFor) {
    const auto fib = make({.max_long = 64});
    const auto host = [](unsigned n) { return Prefix{host_in(n), 32}; };
    std::vector<std::string> refused;
    fib->on_refused([&](const Error& error) { refused.push_back(error.what); });
    for (unsigned n = 0; n < 64; ++n) {
        ASSERT_TRUE(fib->replace(host(n), via(1)));
        poll(*fib);
    }
    ASSERT_TRUE(fib->replace(net(100, 22), via(1)));

    for (const unsigned n : {64u, 65u}) ASSERT_TRUE(fib->replace(host(n), local));
    ASSERT_TRUE(fib->remove(host(63)));
    poll(*fib);
    ASSERT_EQ(refused.size(), 1u) << "one fits in the place of the removed one";
    EXPECT_TRUE(refused[0].starts_with("10.0.65.1/32: the route table has no room")) << refused[0];
    EXPECT_EQ(lookup(*fib, host_in(64)), local);
    EXPECT_EQ(lookup(*fib, host_in(65)).kind, NextHop::Kind::unreachable);
    EXPECT_EQ(fib->waiting(), 0u);

    fib->on_refused({});
    ASSERT_TRUE(fib->replace(host(66), local));
    poll(*fib);
    EXPECT_EQ(fib->waiting(), 0u);
}

TEST_F(FibAndAShardTest, DoesNotCareAboutAShardThatSleeps) {
    const auto fib = make();
    rte_rcu_qsbr_thread_offline(readers_, 0);
    for (unsigned n = 0; n < 10; ++n) ASSERT_TRUE(fib->replace(net(n), via(n)));
    EXPECT_EQ(fib->waiting(), 0u);
    EXPECT_EQ(fib->size(), 10u);
}

}  // namespace
}  // namespace verbline::forward::fibs
