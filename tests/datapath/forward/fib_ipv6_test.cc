// SPDX-License-Identifier: BSD-3-Clause
// What of the forwarding table differs for IPv6; the swap of its tables is tested with IPv4.
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>

#include <rte_fib6.h>
#include <rte_rcu_qsbr.h>

#include <gtest/gtest.h>

#include "datapath/forward/fib.h"
#include "tests/support/eal.h"
#include "tests/support/fib_readers.h"
#include "tests/support/ipv6.h"

namespace verbline::forward::over_ipv6_fib {
namespace {

using test::ipv6, test::ipv6_prefix;
using wire::Ipv6Address;

Ipv6NextHop via(unsigned n) {
    auto gateway = ipv6("fe80::");
    gateway.bytes[14] = static_cast<std::byte>(n >> 8);
    gateway.bytes[15] = static_cast<std::byte>(n);
    return {NextHopKind::via, InterfaceId{static_cast<std::uint16_t>(n % 3)}, gateway};
}
constexpr Ipv6NextHop on_link{NextHopKind::on_link, InterfaceId{1}};
constexpr Ipv6NextHop local{NextHopKind::local};

class Ipv6FibTest : public testing::Test {
protected:
    std::unique_ptr<Ipv6Fib> make(const Ipv6Fib::Config& config = {}) {
        auto fib = Ipv6Fib::create(config, *readers_);
        EXPECT_TRUE(fib) << fib.error().what;
        return std::move(*fib);
    }
    static Ipv6NextHop lookup(const Ipv6Fib& fib, const Ipv6Address& address) {
        Ipv6Fib::Index hop{};
        fib.lookup({&address, 1}, {&hop, 1});
        return fib.next_hop(hop);
    }

    test::FibReaders owned_readers_ = test::fib_readers(4);
    rte_rcu_qsbr* readers_ = owned_readers_.get();
};

TEST_F(Ipv6FibTest, PrefersTheLongestPrefix) {
    const auto fib = make();
    EXPECT_EQ(lookup(*fib, ipv6("fd76::1")).kind, NextHopKind::unreachable);
    ASSERT_TRUE(fib->replace(ipv6_prefix("::/0"), via(1)));
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76::/16"), via(2)));
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76:2:3::/64"), on_link));
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76:2:3::7/128"), local));
    EXPECT_EQ(lookup(*fib, ipv6("2001:db8::1")), via(1));
    EXPECT_EQ(lookup(*fib, ipv6("fd76:2:4::1")), via(2));
    EXPECT_EQ(lookup(*fib, ipv6("fd76:2:3::6")), on_link);
    EXPECT_EQ(lookup(*fib, ipv6("fd76:2:3::7")), local);
    ASSERT_TRUE(fib->remove(ipv6_prefix("fd76:2:3::7/128")));
    ASSERT_TRUE(fib->remove(ipv6_prefix("fd76::/16")));
    EXPECT_EQ(lookup(*fib, ipv6("fd76:2:3::7")), on_link);
    EXPECT_EQ(lookup(*fib, ipv6("fd76:2:4::1")), via(1));
    const std::vector<BasicRoute<Ipv6Address>> rest{{ipv6_prefix("::/0"), via(1)},
                                                    {ipv6_prefix("fd76:2:3::/64"), on_link}};
    EXPECT_EQ(fib->routes(), rest);
    ASSERT_TRUE(fib->remove(ipv6_prefix("::/0")));
    EXPECT_EQ(lookup(*fib, ipv6("2001:db8::1")).kind, NextHopKind::unreachable);
}

TEST_F(Ipv6FibTest, SaysWhatIsWrong) {
    const auto fib = make();
    EXPECT_EQ(fib->remove(ipv6_prefix("fd76::/16")).error().code, ENOENT);
    EXPECT_EQ(fib->replace({{}, 129}, local).error().what, "::/129: an IPv6 prefix has at most 128 bits");
    EXPECT_EQ(fib->replace({ipv6("fd76::1"), 64}, local).error().what,
              "fd76::1/64: bits behind the prefix are set; give the network's address");
}

TEST_F(Ipv6FibTest, HoldsEightHundredHostsOfOneNetwork) {
    const auto fib = make();
    const auto host = [](unsigned n) {
        auto address = ipv6("fd76:1::");
        address.bytes[14] = static_cast<std::byte>(n >> 8), address.bytes[15] = static_cast<std::byte>(n);
        return address;
    };
    for (unsigned n = 0; n < 800; ++n) ASSERT_TRUE(fib->replace({host(n), 128}, via(n)));
    for (unsigned n = 0; n < 800; ++n) ASSERT_EQ(lookup(*fib, host(n)), via(n));
}

/// The rule itself, over all routes.
Ipv6NextHop naive_lookup(const std::map<Ipv6Prefix, Ipv6NextHop>& routes, const Ipv6Address& address) {
    Ipv6NextHop found;
    int longest = -1;
    for (const auto& [prefix, hop] : routes) {
        if (prefix.length <= longest || Ipv6Prefix{address, prefix.length}.network() != prefix.address) continue;
        longest = prefix.length;
        found = hop;
    }
    return found;
}

/// By the number of routes that a tree holds.
class Ipv6FibTreeTest : public Ipv6FibTest, public testing::WithParamInterface<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Trees, Ipv6FibTreeTest, testing::Values(0, 64, 2000));

TEST_P(Ipv6FibTreeTest, AgreesWithTheNaiveLookupThroughRandomChanges) {
    const auto fib = make({.max_long = 4'096, .tree_routes = GetParam()});
    std::mt19937 random(7);
    std::map<Ipv6Prefix, Ipv6NextHop> routes;
    // Few bits vary, so that prefixes nest, tbl8 groups come and go, and next hops are shared and given up.
    const auto address = [&] {
        auto out = ipv6("fd76::");
        for (const std::size_t at : {3, 7, 8, 15}) out.bytes[at] = static_cast<std::byte>(random() & 0x83);
        return out;
    };
    for (int step = 0; step < 1500; ++step) {
        Ipv6Prefix changed{address(), static_cast<std::uint8_t>(random() % 129)};
        changed.address = changed.network();
        if (routes.contains(changed) && random() % 2 == 0) {
            ASSERT_TRUE(fib->remove(changed));
            routes.erase(changed);
        } else {
            const auto hop = via(static_cast<unsigned>(random() % 20));
            ASSERT_TRUE(fib->replace(changed, hop));
            routes[changed] = hop;
        }
        std::array<Ipv6Address, 8> to;
        std::array<Ipv6Fib::Index, 8> hops;
        for (auto& a : to) a = address();
        fib->lookup(to, hops);
        for (std::size_t i = 0; i < to.size(); ++i)
            ASSERT_EQ(fib->next_hop(hops[i]), naive_lookup(routes, to[i])) << "step " << step;
    }
    EXPECT_EQ(fib->size(), routes.size());
}

TEST_F(Ipv6FibTest, ReplacesTheTreeByTablesForOneRouteMore) {
    const auto fib = make({.name = "grows", .tree_routes = 2});
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76:1::/32"), via(1)));
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76:2::/32"), via(2)));
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76:2::/32"), via(3))) << "the number of routes is the same";
    EXPECT_EQ(rte_fib6_find_existing("grows.a"), nullptr);
    EXPECT_NE(rte_fib6_find_existing("grows.s"), nullptr);
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76:3::/32"), via(4)));
    EXPECT_NE(rte_fib6_find_existing("grows.a"), nullptr);
    fib->advance();
    EXPECT_EQ(rte_fib6_find_existing("grows.s"), nullptr) << "its memory is free again";
    ASSERT_TRUE(fib->remove(ipv6_prefix("fd76:1::/32")));
    EXPECT_EQ(lookup(*fib, ipv6("fd76:1::1")).kind, NextHopKind::unreachable);
    EXPECT_EQ(lookup(*fib, ipv6("fd76:2::1")), via(3));
    EXPECT_EQ(lookup(*fib, ipv6("fd76:3::1")), via(4));
}

TEST_F(Ipv6FibTest, HasRoomForManyLongPrefixes) {
    constexpr unsigned routes = 6'560;  // /64s, five groups each: more than entries of 2 bytes can tell apart
    const auto fib = make({.max_routes = routes, .max_long = 32'832, .max_next_hops = 8});
    const auto net = [](unsigned n) {
        auto prefix = ipv6_prefix("fd76::/64");
        prefix.address.bytes[2] = static_cast<std::byte>(n >> 8), prefix.address.bytes[3] = static_cast<std::byte>(n);
        prefix.address.bytes[7] = std::byte{1};
        return prefix;
    };
    for (unsigned n = 0; n < routes; ++n) ASSERT_TRUE(fib->replace(net(n), via(n % 5))) << n;
    for (const unsigned n : {0u, 1u, 255u, 256u, routes - 1}) EXPECT_EQ(lookup(*fib, net(n).address), via(n % 5));
    EXPECT_FALSE(fib->replace(net(routes), via(0)));
    EXPECT_EQ(fib->counters().routes_refused_full.value(), 1u);
}

TEST_F(Ipv6FibTest, KeepsTheTreeWhileAShardMayBeReadingIt) {
    const auto fib = make({.name = "grows", .tree_routes = 2});
    ASSERT_EQ(rte_rcu_qsbr_thread_register(readers_, 0), 0);
    rte_rcu_qsbr_thread_online(readers_, 0);
    const auto net = [](unsigned n) {
        auto prefix = ipv6_prefix("fd76::/32");
        prefix.address.bytes[3] = static_cast<std::byte>(n);
        return prefix;
    };
    const auto host = [&](unsigned n) { return net(n).address; };
    for (unsigned n = 0; n < 5; ++n) ASSERT_TRUE(fib->replace(net(n), via(n)));
    EXPECT_EQ(fib->waiting(), 4u);
    EXPECT_EQ(rte_fib6_find_existing("grows.a"), nullptr);

    rte_rcu_qsbr_quiescent(readers_, 0);
    fib->advance();
    for (unsigned n = 0; n < 5; ++n) EXPECT_EQ(lookup(*fib, host(n)), via(n)) << "the tree's and the table's";
    fib->advance();
    EXPECT_NE(rte_fib6_find_existing("grows.s"), rte_fib6_find_existing("grows.t")) << "one tree is left";

    for (unsigned n = 5; n < 8; ++n) {
        rte_rcu_qsbr_quiescent(readers_, 0);
        ASSERT_TRUE(fib->replace(net(n), via(n)));
        for (unsigned known = 0; known <= n; ++known) EXPECT_EQ(lookup(*fib, host(known)), via(known)) << n;
    }
    EXPECT_EQ(rte_fib6_find_existing("grows.s"), rte_fib6_find_existing("grows.t")) << "both are gone";
    rte_rcu_qsbr_thread_offline(readers_, 0);
}

/// A shard that never stops looking, while a route under it comes and goes, and the tree with the first.
TEST_F(Ipv6FibTest, AReaderSeesEachChangeWholeOrNotAtAll) {
    const auto fib = make({.max_routes = 1024, .max_next_hops = 8, .tree_routes = 1});
    ASSERT_TRUE(fib->replace(ipv6_prefix("fd76::/16"), via(0)));
    std::atomic<unsigned> wrong = 0;
    ASSERT_EQ(rte_rcu_qsbr_thread_register(readers_, 0), 0);
    rte_rcu_qsbr_thread_online(readers_, 0);
    std::jthread shard([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const auto hop = lookup(*fib, ipv6("fd76:2::1"));
            if (hop != via(0) && hop.gateway.bytes[14] != std::byte{1}) ++wrong;
            rte_rcu_qsbr_quiescent(readers_, 0);
        }
        rte_rcu_qsbr_thread_offline(readers_, 0);
    });
    for (unsigned i = 1; i <= 200; ++i) {
        auto changed = ipv6_prefix("fd76:2::/32");
        changed.length = static_cast<std::uint8_t>(32 + i % 90);
        ASSERT_TRUE(fib->replace(changed, via(0x100 + i % 256)));
        ASSERT_TRUE(fib->remove(changed));
    }
    shard.request_stop();
    shard.join();
    EXPECT_EQ(wrong, 0u);
}

/// The shard goes on at any moment, also while a change is being made that came too early for those before it.
TEST_F(Ipv6FibTest, ChangesKeepTheirOrderWhenTheShardGoesOnBetweenThem) {
    const auto fib = make({.tree_routes = 64});
    ASSERT_EQ(rte_rcu_qsbr_thread_register(readers_, 0), 0);
    rte_rcu_qsbr_thread_online(readers_, 0);
    std::jthread shard([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) rte_rcu_qsbr_quiescent(readers_, 0);
        rte_rcu_qsbr_thread_offline(readers_, 0);
    });
    std::minstd_rand random(1);
    std::map<Ipv6Prefix, Ipv6NextHop> expected;
    for (unsigned i = 0; i < 50'000; ++i) {
        auto changed = ipv6_prefix("fd76:2::/32");
        changed.length = static_cast<std::uint8_t>(32 + random() % 4);
        if (expected.erase(changed) == 0) {
            ASSERT_TRUE(fib->replace(changed, via(1 + i % 8))) << i;
            expected.emplace(changed, via(1 + i % 8));
        } else {
            ASSERT_TRUE(fib->remove(changed)) << i;
        }
    }
    shard.request_stop();
    shard.join();
    fib->advance();
    std::map<Ipv6Prefix, Ipv6NextHop> found;
    for (const auto& route : fib->routes()) found.emplace(route.prefix, *route.next_hops.alone());
    EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace verbline::forward::over_ipv6_fib
