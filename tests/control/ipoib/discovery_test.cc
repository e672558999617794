// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/discovery.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"

namespace verbline::ipoib {
namespace {

using neighbour::all_nodes, neighbour::solicited_node;
using wire::Gid;
using wire::IpoibAddress;

constexpr Gid address(unsigned n) {
    return Gid::of(0xfd00'0000'0000'0000, wire::Guid{n});
}
constexpr IpoibAddress link_of(unsigned n) {
    return {.qpn = wire::Qpn{0x40 + n}, .gid = Gid::of(wire::default_subnet_prefix, wire::Guid{n})};
}

/// A host, and what its engine has said.
struct Host {
    explicit Host(unsigned n, std::size_t capacity = IpoibDiscovery::default_capacity)
        : number(n), engine(link_of(n), {}, capacity) {
        engine.set_addresses({{address(n), 64}});
    }

    void take(const IpoibDiscovery::Actions& actions) {
        for (const auto& action : actions) {
            if (const auto* send = std::get_if<IpoibDiscovery::Send>(&action)) sent.push_back(*send);
            if (const auto* found = std::get_if<IpoibDiscovery::Resolved>(&action))
                resolved[found->address] = found->link;
            if (const auto* lost = std::get_if<IpoibDiscovery::Failed>(&action)) failed.insert(lost->address);
        }
    }
    void pass(Time until) {
        while (engine.deadline() && *engine.deadline() <= until) take(engine.tick(*engine.deadline()));
    }
    std::uint64_t count(std::string_view name) const {
        std::uint64_t found = ~std::uint64_t{0};
        engine.counters().each([&](auto each, auto value, auto) { found = each == name ? value : found; });
        return found;
    }

    unsigned number;
    IpoibDiscovery engine;
    std::vector<IpoibDiscovery::Send> sent;
    std::map<Gid, IpoibAddress> resolved;
    std::set<Gid> failed;
};

/// All that has been sent arrives, at those to whom it is sent.
void carry(std::initializer_list<Host*> hosts, Time now) {
    for (bool moved = true; moved;) {
        moved = false;
        for (auto* from : hosts) {
            for (const auto& send : std::exchange(from->sent, {})) {
                moved = true;
                for (auto* to : hosts) {
                    const auto groups = to->engine.groups();
                    const auto* group = std::get_if<Gid>(&send.to);
                    const bool concerned = group ? std::ranges::find(groups, *group) != groups.end()
                                                 : std::get<IpoibAddress>(send.to) == link_of(to->number);
                    if (concerned) to->take(to->engine.received(send.packet, now));
                }
            }
        }
    }
}

TEST(IpoibDiscovery, FindsWhoeverHasTheAddress) {
    Host us(1), peer(2), other(3);
    us.take(us.engine.resolve(address(2), 0));
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_EQ(std::get<Gid>(us.sent[0].to), solicited_node(address(2)));
    carry({&us, &peer, &other}, 0);
    EXPECT_EQ(us.resolved, (std::map<Gid, IpoibAddress>{{address(2), link_of(2)}}));
    // Who was asked knows the one who asked, without asking.
    peer.take(peer.engine.resolve(address(1), 0));
    EXPECT_EQ(peer.resolved.at(address(1)), link_of(1));
    EXPECT_EQ(other.engine.size(), 0u);
}

TEST(IpoibDiscovery, AsksThreeTimesAndThenFails) {
    Host us(1);
    us.take(us.engine.resolve(address(2), 0));
    us.pass(2 * second);
    EXPECT_EQ(us.sent.size(), 3u);
    EXPECT_TRUE(us.failed.empty());
    us.pass(3 * second);
    EXPECT_EQ(us.failed, std::set<Gid>{address(2)});
    EXPECT_EQ(us.sent.size(), 3u);
    EXPECT_EQ(us.engine.size(), 0u);
    EXPECT_FALSE(us.engine.deadline());
}

TEST(IpoibDiscovery, ALostQuestionIsAskedAgain) {
    Host us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    us.sent.clear();
    us.pass(second);
    carry({&us, &peer}, second);
    EXPECT_TRUE(us.resolved.contains(address(2)));
}

TEST(IpoibDiscovery, WhoWasKnownLongAgoIsToldAndAskedMeanwhile) {
    Host us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    const Time later = 40 * second;
    us.pass(later);
    us.resolved.clear();
    us.take(us.engine.resolve(address(2), later));
    EXPECT_TRUE(us.resolved.contains(address(2)));
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_EQ(std::get<IpoibAddress>(us.sent[0].to), link_of(2));
    // Nobody there any more: the next who asks finds out.
    us.pass(later + 5 * second);
    EXPECT_EQ(us.engine.size(), 0u);
    EXPECT_EQ(us.count("nd_removed"), 1u);
}

TEST(IpoibDiscovery, WhomNobodyAsksForIsForgotten) {
    Host us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    us.pass(120 * second);
    EXPECT_EQ(us.engine.size(), 0u);
    EXPECT_EQ(us.sent.size(), 0u);
}

TEST(IpoibDiscovery, AnotherLinkAddressIsBelievedWhenItOverrides) {
    Host us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    peer.engine.set_link(link_of(9));
    peer.engine.announce(second);
    peer.pass(second);
    carry({&us, &peer}, second);
    EXPECT_EQ(us.resolved.at(address(2)), link_of(9));
    EXPECT_EQ(us.count("nd_changed"), 1u);
}

TEST(IpoibDiscovery, WhatNobodyAskedForIsNotBelieved) {
    Host us(1), peer(2);
    peer.engine.announce(0);
    peer.pass(0);
    carry({&us, &peer}, 0);
    EXPECT_EQ(us.engine.size(), 0u);
    EXPECT_EQ(us.count("nd_rx_dropped_unsolicited"), 1u);
}

TEST(IpoibDiscovery, SomebodyWithOurAddressIsCounted) {
    Host us(1), thief(2);
    thief.engine.set_addresses({{address(1), 64}});
    thief.engine.announce(0);
    thief.pass(0);
    carry({&us, &thief}, 0);
    EXPECT_EQ(us.count("nd_rx_dropped_conflict"), 1u);
}

TEST(IpoibDiscovery, AProbeForOurAddressIsAnsweredToAll) {
    Host us(1), other(2);
    std::array<std::byte, neighbour::discovery_size<IpoibAddress>> probe{};
    const auto size = neighbour::write_discovery<IpoibAddress>(probe, link_of(2), {}, solicited_node(address(1)),
                                                               {.target = {address(1).bytes}});
    us.take(us.engine.received(wire::Bytes(probe).first(size), 0));
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_EQ(std::get<Gid>(us.sent[0].to), all_nodes);
    EXPECT_EQ(us.engine.size(), 0u);
}

TEST(IpoibDiscovery, IsInTheGroupsOfItsAddresses) {
    Host us(1);
    us.engine.set_addresses({{address(1), 64},
                             {Gid::of(wire::default_subnet_prefix, wire::Guid{1}), 64},
                             {link::gid_of(wire::ipv4(10, 0, 0, 1)), 24}});
    EXPECT_EQ(us.engine.groups(), (std::vector{all_nodes, solicited_node(address(1))}));
}

TEST(IpoibDiscovery, HostsThatAskFillTheTableNoFurtherThanItGoes) {
    Host us(1, 4);
    us.take(us.engine.resolve(address(2), 0));
    for (unsigned n = 10; n < 30; ++n) {
        Host asks(n);
        asks.take(asks.engine.resolve(address(1), 0));
        carry({&us, &asks}, 0);
        EXPECT_TRUE(asks.resolved.contains(address(1)));
    }
    EXPECT_EQ(us.engine.size(), 4u);
    Host peer(2);
    us.take(us.engine.resolve(address(2), 0));
    us.pass(second);
    carry({&us, &peer}, second);
    EXPECT_TRUE(us.resolved.contains(address(2)));
}

TEST(IpoibDiscovery, WithoutAnAddressNobodyIsAsked) {
    IpoibDiscovery engine(link_of(1));
    const auto actions = engine.resolve(address(2), 0);
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<IpoibDiscovery::Failed>(actions[0]));
}

}  // namespace
}  // namespace verbline::ipoib
