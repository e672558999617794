// SPDX-License-Identifier: BSD-3-Clause
// The neighbours that a resolver learns, verifies and removes.
#include <variant>

#include <gtest/gtest.h>

#include "datapath/neighbour/resolver.h"
#include "tests/datapath/neighbour/resolver_fixture.h"

namespace verbline::neighbour {
namespace {

using test_resolver::answers, test_resolver::asks, test_resolver::hear, test_resolver::ip, test_resolver::ipv4,
    test_resolver::nobody, test_resolver::only, test_resolver::other_link, test_resolver::Ours,
    test_resolver::resolve_and_hear, test_resolver::state_of, test_resolver::station, test_resolver::their_link;

TEST(Resolver, ReportsLearnedNeighboursOnlyOnceRequested) {
    Ours engine;
    EXPECT_TRUE(only<Send>(hear(engine, asks(their_link, ip(2), ip(1)), 0))) << "the answer, and nothing else";
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::stale);
    const auto told = engine.resolve(ip(2), second);
    ASSERT_TRUE(only<Resolved>(told)) << "without a question on the link";
    const auto probe = engine.tick(*engine.deadline());
    ASSERT_TRUE(only<Send>(probe)) << "what nobody asked for is checked";
    EXPECT_EQ(only<Send>(probe)->to, their_link);
}

TEST(Resolver, ExpiresNeighboursNeverRequested) {
    Ours engine;
    hear(engine, asks(their_link, ip(2), ip(1)), 0);
    engine.tick(50 * second);
    hear(engine, asks(their_link, ip(2), ip(1)), 50 * second);
    EXPECT_TRUE(engine.tick(60 * second).empty());
    EXPECT_EQ(engine.neighbours(0).size(), 1u) << "heard of again meanwhile";
    EXPECT_TRUE(engine.tick(110 * second).empty()) << "nobody needs to be told";
    EXPECT_TRUE(engine.neighbours(0).empty());
}

TEST(Resolver, LearnsNoHostOutsideItsSubnets) {
    Ours engine;
    EXPECT_EQ(hear(engine, asks(their_link, ipv4(192, 168, 0, 2), ip(1)), 0).size(), 1u) << "but answers";
    EXPECT_TRUE(engine.neighbours(0).empty());
}

TEST(Resolver, FollowsANeighbourToItsNewAddress) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    const auto told = hear(engine, asks(other_link, ip(2), ip(2)), second);  // gratuitous
    const auto* resolved = only<Resolved>(told);
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->link, other_link);
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::delay) << "believed, but checked";
    EXPECT_EQ(engine.deadline(), 6 * second);
    EXPECT_EQ(engine.counters().value(Event::changed), 1u);
    EXPECT_TRUE(hear(engine, asks(other_link, ip(7), ip(7)), second).empty()) << "of others nothing is learned";
    EXPECT_EQ(engine.neighbours(0).size(), 1u);
    const auto check = engine.tick(6 * second);
    ASSERT_TRUE(only<Send>(check));
    EXPECT_EQ(only<Send>(check)->to, other_link);
}

TEST(Resolver, UnsolicitedReplyDoesNotConfirmReachability) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    EXPECT_EQ(hear(engine, answers(other_link, ip(2), ip(1)), second).size(), 1u);
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::delay) << "nobody had asked";
    engine.resolve(ip(3), second);
    hear(engine, answers(station(4), ip(3), ip(2)), second);
    EXPECT_EQ(state_of(engine, ip(3)), NeighbourState::delay) << "it answered another";
}

TEST(Resolver, ProbesANeighbourPeriodically) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    EXPECT_EQ(engine.deadline(), 30 * second);
    const auto probes = engine.tick(30 * second);
    ASSERT_TRUE(only<Send>(probes));
    EXPECT_EQ(only<Send>(probes)->to, their_link);
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::probe);
    EXPECT_TRUE(hear(engine, answers(their_link, ip(2), ip(1)), 30 * second + 1).empty()) << "nothing new";
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::reachable);
    EXPECT_EQ(engine.deadline(), 60 * second + 1);
}

TEST(Resolver, BroadcastsBeforeItRemovesANeighbour) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    int unicast = 0, broadcast = 0, removed = 0;
    for (int i = 0; i < 20 && engine.deadline(); ++i) {
        for (const auto& action : engine.tick(*engine.deadline())) {
            if (const auto* send = std::get_if<Send>(&action)) {
                EXPECT_TRUE(send->to || unicast == 3) << "first the neighbour itself";
                ++(send->to ? unicast : broadcast);
            }
            removed += std::holds_alternative<Removed>(action);
        }
    }
    EXPECT_EQ(unicast, 3);
    EXPECT_EQ(broadcast, 3);
    EXPECT_EQ(removed, 1);
    EXPECT_FALSE(engine.deadline());
    EXPECT_TRUE(engine.neighbours(0).empty());
}

TEST(Resolver, AcceptsAReplyFromANewAddressWhileProbing) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    for (int i = 0; i < 4; ++i) engine.tick(*engine.deadline());
    const auto told = hear(engine, answers(other_link, ip(2), ip(1)), 33 * second);
    ASSERT_TRUE(only<Resolved>(told));
    EXPECT_EQ(only<Resolved>(told)->link, other_link);
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::reachable);
}

TEST(Resolver, FloodCannotEvictNeighboursInUse) {
    Ours engine({.capacity = 3});
    resolve_and_hear(engine, 2, their_link, 0);
    engine.resolve(ip(3), 0);
    for (unsigned host = 10; host < 20; ++host) hear(engine, asks(station(host), ip(host), ip(1)), 0);
    EXPECT_EQ(engine.neighbours(0).size(), 3u);
    EXPECT_TRUE(state_of(engine, ip(2)) && state_of(engine, ip(3)) && state_of(engine, ip(19)));

    EXPECT_EQ(engine.resolve(ip(4), 0).size(), 1u)
        << "at the expense of one only heard of, of which nobody need be told";
    hear(engine, asks(station(20), ip(20), ip(1)), 0);
    EXPECT_FALSE(state_of(engine, ip(20)));
    EXPECT_EQ(engine.counters().value(Event::rx_not_learned), 1u);

    const auto actions = engine.resolve(ip(5), 0);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Failed>(actions[0]).address, ip(3))
        << "then of one that nobody has answered for, the oldest first";
    engine.resolve(ip(6), 0);
    hear(engine, answers(station(5), ip(5), ip(1)), 0);
    hear(engine, answers(station(6), ip(6), ip(1)), 0);
    EXPECT_TRUE(state_of(engine, ip(2)) && state_of(engine, ip(5)) && state_of(engine, ip(6)));
}

TEST(Resolver, EvictsTheNeighbourWithTheOldestMessage) {
    Ours engine({.capacity = 2});
    resolve_and_hear(engine, 2, their_link, 0);
    resolve_and_hear(engine, 3, other_link, 1);
    engine.tick(30 * second);  // asks 10.0.0.2
    hear(engine, answers(their_link, ip(2), ip(1)), 30 * second + 2);
    const auto actions = engine.resolve(ip(4), 30 * second + 3);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Removed>(actions[0]).address, ip(3));
}

TEST(Resolver, ClearsItsTableWithTheLink) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    engine.resolve(ip(3), 0);
    hear(engine, asks(station(4), ip(4), ip(1)), 0);
    engine.announce(0);
    const auto actions = engine.clear();
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Removed>(actions[0]).address, ip(2));
    EXPECT_EQ(std::get<Failed>(actions[1]).address, ip(3));
    EXPECT_FALSE(engine.deadline());
}

TEST(Resolver, RemovesANeighbourWhoseAddressBecomesOurs) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    const auto actions = engine.set_addresses({{ip(2), 24}}, 0);
    ASSERT_TRUE(only<Removed>(actions));
    EXPECT_TRUE(engine.neighbours(0).empty());
}

TEST(Resolver, VerifiesANeighbourAtOnce) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    const auto probe = engine.verify(ip(2), second);
    ASSERT_EQ(probe.size(), 1U);
    EXPECT_EQ(std::get<Send>(probe[0]).to, their_link) << "alone";
    EXPECT_TRUE(engine.verify(ip(2), second).empty()) << "it is under way";
    const auto verified = hear(engine, answers(their_link, ip(2), ip(1)), 2 * second);
    ASSERT_EQ(verified.size(), 1U);
    EXPECT_EQ(std::get<Resolved>(verified[0]).address, ip(2)) << "though nothing has changed";
    EXPECT_TRUE(hear(engine, answers(their_link, ip(2), ip(1)), 3 * second).empty()) << "and once";
    EXPECT_EQ(std::get<Send>(engine.verify(ip(9), second).at(0)).to, std::nullopt) << "who is not known is resolved";
}

}  // namespace
}  // namespace verbline::neighbour
