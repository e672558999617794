// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/engine.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"

namespace verbline::neighbour {
namespace {

using wire::Gid;

LinkAddress mac(unsigned n) {
    wire::MacAddress address;
    address.bytes[0] = std::byte{2};
    address.bytes[5] = static_cast<std::byte>(n);
    return address;
}
LinkAddress ipoib(unsigned qpn) {
    return wire::IpoibAddress{.qpn = wire::Qpn{qpn},
                              .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{qpn})};
}
constexpr Gid ipv4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return link::gid_of(wire::ipv4(a, b, c, d));
}
constexpr Gid ip(unsigned host) {
    return ipv4(10, 0, 0, host);
}
constexpr Gid nobody{};

const LinkAddress our_link = mac(1), their_link = mac(2), other_link = mac(3);

Message asks(const LinkAddress& link, const Gid& from, const Gid& to) {
    return from == to ? announcement(link, from)
                      : request(link, from == nobody ? std::nullopt : std::optional(from), to);
}
Message answers(const LinkAddress& link, const Gid& from, const Gid& to) {
    return reply(link, from, to);
}
Actions hear(Engine& engine, const Message& message, Time now, const LinkAddress& to = our_link) {
    std::array<std::byte, max_arp_size> bytes{};
    const bool reply = !message.asks && message.subject != Gid{};
    const auto size = write_arp(bytes, message, reply ? std::optional(to) : std::nullopt);
    return engine.received(read_arp(wire::Bytes(bytes).first(size), engine.link()), now);
}
/// 10.0.0.1/24.
struct Ours : Engine {
    explicit Ours(const Parameters& parameters = {}) : Engine(our_link, parameters) { set_addresses({{ip(1), 24}}, 0); }
};
Actions resolve_and_hear(Engine& engine, unsigned host, const LinkAddress& link, Time now) {
    engine.resolve(ip(host), now);
    return hear(engine, answers(link, ip(host), ip(1)), now);
}

template <class T>
const T* only(const Actions& actions) {
    return actions.size() == 1 ? std::get_if<T>(&actions.front()) : nullptr;
}
std::optional<NeighbourState> state_of(const Engine& engine, const Gid& address, Time now = 0) {
    for (const auto& neighbour : engine.neighbours(now)) {
        if (neighbour.address == address) return neighbour.state;
    }
    return std::nullopt;
}

TEST(Engine, AsksEveryoneAndTellsTheDatapath) {
    Ours engine;
    const auto asked = engine.resolve(ip(2), 0);
    const auto* question = only<Send>(asked);
    ASSERT_TRUE(question);
    EXPECT_EQ(question->message, asks(our_link, ip(1), ip(2)));
    EXPECT_FALSE(question->to) << "broadcast";
    EXPECT_TRUE(engine.resolve(ip(2), 1).empty()) << "one question is out already";

    const auto told = hear(engine, answers(their_link, ip(2), ip(1)), millisecond);
    const auto* resolved = only<Resolved>(told);
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->address, ip(2));
    EXPECT_EQ(resolved->link, their_link);
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::reachable);
    EXPECT_TRUE(only<Resolved>(engine.resolve(ip(2), second))) << "a datapath that asks again is told again";
}

TEST(Engine, GivesUpAfterThreeTries) {
    Ours engine;
    engine.resolve(ip(2), 0);
    EXPECT_EQ(engine.deadline(), 200 * millisecond);
    EXPECT_TRUE(only<Send>(engine.tick(200 * millisecond)));
    EXPECT_EQ(engine.deadline(), 1200 * millisecond);
    EXPECT_TRUE(only<Send>(engine.tick(1200 * millisecond)));
    EXPECT_TRUE(engine.tick(2199 * millisecond).empty());
    EXPECT_TRUE(only<Failed>(engine.tick(2200 * millisecond)));
    EXPECT_FALSE(engine.deadline());
    EXPECT_TRUE(only<Send>(engine.resolve(ip(2), 3 * second))) << "and begins anew";
    EXPECT_EQ(engine.counters().value(Event::failed), 1u);
}

TEST(Engine, AsksFromTheAddressOfTheSameSubnet) {
    Engine engine(our_link);
    engine.set_addresses({{ipv4(192, 168, 0, 1), 24}, {ip(1), 24}}, 0);
    EXPECT_EQ(only<Send>(engine.resolve(ip(2), 0))->message.speaker, ip(1));
    EXPECT_EQ(only<Send>(engine.resolve(ipv4(172, 16, 0, 1), 0))->message.speaker, ipv4(192, 168, 0, 1));
}

TEST(Engine, AsksForNothingThatIsNoNeighbour) {
    Ours engine;
    for (const auto address : {ip(1), nobody, ipv4(127, 0, 0, 1), ipv4(224, 0, 0, 1), ipv4(255, 255, 255, 255)}) {
        EXPECT_TRUE(only<Failed>(engine.resolve(address, 0)));
    }
    Engine nowhere(our_link);
    EXPECT_TRUE(only<Failed>(nowhere.resolve(ip(2), 0))) << "no address to ask from";
}

TEST(Engine, AnswersForItselfOnly) {
    Ours engine;
    const auto answered = hear(engine, asks(their_link, ip(2), ip(1)), 0);
    const auto* answer = only<Send>(answered);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->message, answers(our_link, ip(1), ip(2)));
    EXPECT_EQ(answer->to, their_link);
    EXPECT_TRUE(hear(engine, asks(other_link, ip(3), ip(9)), 0).empty());
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_not_ours), 1u);
    EXPECT_FALSE(state_of(engine, ip(3))) << "who does not speak to us is not remembered";
}

TEST(Engine, AnswersAnInfiniBandNeighbourAtItsQpn) {
    Engine engine(ipoib(0x100));
    engine.set_addresses({{ip(1), 24}}, 0);
    const auto answered = hear(engine, asks(ipoib(0x200), ip(2), ip(1)), 0);
    const auto* answer = only<Send>(answered);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->to, ipoib(0x200));
    EXPECT_EQ(to_string(*answer->message.at), "00:00:01:00:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:01:00");
}

TEST(Engine, DefendsItsAddressAgainstAProbe) {
    Ours engine;
    const auto answered = hear(engine, asks(their_link, nobody, ip(1)), 0);
    ASSERT_TRUE(only<Send>(answered));
    EXPECT_TRUE(engine.neighbours(0).empty()) << "0.0.0.0 is nobody";
}

TEST(Engine, TellsOfThoseWhoAskedUsOnlyWhenTheDatapathAsks) {
    Ours engine;
    EXPECT_TRUE(only<Send>(hear(engine, asks(their_link, ip(2), ip(1)), 0))) << "the answer, and nothing else";
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::stale);
    const auto told = engine.resolve(ip(2), second);
    ASSERT_TRUE(only<Resolved>(told)) << "without a question on the link";
    const auto probe = engine.tick(*engine.deadline());
    ASSERT_TRUE(only<Send>(probe)) << "what nobody asked for is checked";
    EXPECT_EQ(only<Send>(probe)->to, their_link);
}

TEST(Engine, ForgetsThoseTheDatapathNeverAskedFor) {
    Ours engine;
    hear(engine, asks(their_link, ip(2), ip(1)), 0);
    engine.tick(50 * second);
    hear(engine, asks(their_link, ip(2), ip(1)), 50 * second);
    EXPECT_TRUE(engine.tick(60 * second).empty());
    EXPECT_EQ(engine.neighbours(0).size(), 1u) << "heard of again meanwhile";
    EXPECT_TRUE(engine.tick(110 * second).empty()) << "nobody needs to be told";
    EXPECT_TRUE(engine.neighbours(0).empty());
}

TEST(Engine, RemembersNobodyFromOutsideItsSubnets) {
    Ours engine;
    EXPECT_EQ(hear(engine, asks(their_link, ipv4(192, 168, 0, 2), ip(1)), 0).size(), 1u) << "but answers";
    EXPECT_TRUE(engine.neighbours(0).empty());
}

TEST(Engine, FollowsANeighbourToItsNewAddress) {
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

TEST(Engine, DoesNotTakeAWordForAnAnswer) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    EXPECT_EQ(hear(engine, answers(other_link, ip(2), ip(1)), second).size(), 1u);
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::delay) << "nobody had asked";
    engine.resolve(ip(3), second);
    hear(engine, answers(mac(4), ip(3), ip(2)), second);
    EXPECT_EQ(state_of(engine, ip(3)), NeighbourState::delay) << "it answered another";
}

TEST(Engine, AsksANeighbourNowAndThenWhetherItIsThere) {
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

TEST(Engine, AsksEveryoneBeforeItGivesANeighbourUp) {
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

TEST(Engine, FindsAgainWhoAnswersFromElsewhere) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    for (int i = 0; i < 4; ++i) engine.tick(*engine.deadline());
    const auto told = hear(engine, answers(other_link, ip(2), ip(1)), 33 * second);
    ASSERT_TRUE(only<Resolved>(told));
    EXPECT_EQ(only<Resolved>(told)->link, other_link);
    EXPECT_EQ(state_of(engine, ip(2)), NeighbourState::reachable);
}

TEST(Engine, RefusesWhoClaimsItsAddressAndSaysSoOnce) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    const auto defence = hear(engine, answers(other_link, ip(1), ip(2)), 0);
    ASSERT_TRUE(only<Send>(defence));
    EXPECT_EQ(only<Send>(defence)->message, asks(our_link, ip(1), ip(1)));
    EXPECT_TRUE(hear(engine, asks(other_link, ip(1), ip(2)), 9 * second).empty());
    EXPECT_EQ(hear(engine, asks(other_link, ip(1), ip(2)), 10 * second).size(), 1u);
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_conflict), 3u);
    EXPECT_EQ(engine.neighbours(0).size(), 1u);
}

TEST(Engine, AnnouncesItsAddressesTwice) {
    Engine engine(our_link);
    engine.set_addresses({{ip(1), 24}, {ipv4(10, 9, 0, 1), 24}}, 0);
    EXPECT_EQ(engine.announce(0).size(), 2u);
    EXPECT_EQ(engine.deadline(), 2 * second);
    const auto again = engine.tick(2 * second);
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(std::get<Send>(again[0]).message, asks(our_link, ip(1), ip(1)));
    EXPECT_FALSE(engine.deadline());
}

TEST(Engine, IgnoresItsOwnPacketsComeBack) {
    Ours engine;
    EXPECT_TRUE(hear(engine, asks(our_link, ip(1), ip(1)), 0).empty());
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_own), 1u);
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_conflict), 0u);
}

TEST(Engine, RefusesWhatIsNotArpOfThisLink) {
    Ours engine;
    std::array<std::byte, max_arp_size> bytes{};
    const auto size = write_arp(bytes, asks(their_link, ip(2), ip(1)), std::nullopt);
    const auto received = [&](std::size_t n) {
        return engine.received(read_arp(wire::Bytes(bytes).first(n), our_link), 0);
    };
    for (std::size_t n = 0; n < size; ++n) EXPECT_TRUE(received(n).empty());
    bytes[7] = std::byte{3};
    EXPECT_TRUE(received(size).empty()) << "an operation unknown";
    EXPECT_TRUE(hear(engine, asks(ipoib(5), ip(2), ip(1)), 0).empty());
    EXPECT_TRUE(hear(engine, asks(wire::broadcast_mac, ip(2), ip(1)), 0).empty());
    EXPECT_TRUE(hear(engine, asks(wire::MacAddress{}, ip(2), ip(1)), 0).empty());
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_malformed), size + 4);
    EXPECT_TRUE(engine.neighbours(0).empty());
}

TEST(Engine, RefusesInfiniBandSendersThatCannotBe) {
    EXPECT_TRUE(is_host(ipoib(2)));
    EXPECT_FALSE(is_host(ipoib(1)));
    EXPECT_FALSE(is_host(ipoib(0xffffff)));
    EXPECT_FALSE(is_host(wire::IpoibAddress{.qpn = wire::Qpn{5}}));
    auto group = wire::Gid::of(0xff12'0000'0000'0000, wire::Guid{1});
    EXPECT_FALSE(is_host(wire::IpoibAddress{.qpn = wire::Qpn{5}, .gid = group}));
}

TEST(Engine, WhatOthersSendCannotPushOutNeighboursInUse) {
    Ours engine({.capacity = 3});
    resolve_and_hear(engine, 2, their_link, 0);
    engine.resolve(ip(3), 0);
    for (unsigned host = 10; host < 20; ++host) hear(engine, asks(mac(host), ip(host), ip(1)), 0);
    EXPECT_EQ(engine.neighbours(0).size(), 3u);
    EXPECT_TRUE(state_of(engine, ip(2)) && state_of(engine, ip(3)) && state_of(engine, ip(19)));

    EXPECT_EQ(engine.resolve(ip(4), 0).size(), 1u)
        << "at the expense of one only heard of, of which nobody need be told";
    hear(engine, asks(mac(20), ip(20), ip(1)), 0);
    EXPECT_FALSE(state_of(engine, ip(20)));
    EXPECT_EQ(engine.counters().value(Event::rx_not_learned), 1u);

    const auto actions = engine.resolve(ip(5), 0);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Failed>(actions[0]).address, ip(3))
        << "then of one that nobody has answered for, the oldest first";
    engine.resolve(ip(6), 0);
    hear(engine, answers(mac(5), ip(5), ip(1)), 0);
    hear(engine, answers(mac(6), ip(6), ip(1)), 0);
    EXPECT_TRUE(state_of(engine, ip(2)) && state_of(engine, ip(5)) && state_of(engine, ip(6)));
}

TEST(Engine, GivesUpTheNeighbourHeardOfLongestAgo) {
    Ours engine({.capacity = 2});
    resolve_and_hear(engine, 2, their_link, 0);
    resolve_and_hear(engine, 3, other_link, 1);
    engine.tick(30 * second);  // asks 10.0.0.2
    hear(engine, answers(their_link, ip(2), ip(1)), 30 * second + 2);
    const auto actions = engine.resolve(ip(4), 30 * second + 3);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Removed>(actions[0]).address, ip(3));
}

TEST(Engine, AnswersSoManyPerSecond) {
    Ours engine({.answers_per_second = 100, .burst = 10});
    std::size_t answered = 0;
    for (Time now = 0; now < second; now += millisecond)
        answered += hear(engine, asks(their_link, ip(2), ip(1)), now).size();
    EXPECT_NEAR(static_cast<double>(answered), 110, 1);
    EXPECT_EQ(engine.counters().value(Event::tx_dropped_rate), 1000 - answered);
}

TEST(Engine, BroadcastsSoManyPerSecond) {
    Ours engine({.multicasts_per_second = 100, .burst = 10});
    std::size_t sent = 0;
    for (unsigned host = 2; host < 200; ++host) sent += engine.resolve(ip(host), 0).size();
    EXPECT_EQ(sent, 10u);
    EXPECT_EQ(engine.neighbours(0).size(), 198u) << "the rest is asked for at its next try";
}

TEST(Engine, ForgetsEveryoneWithTheLink) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    engine.resolve(ip(3), 0);
    hear(engine, asks(mac(4), ip(4), ip(1)), 0);
    engine.announce(0);
    const auto actions = engine.clear();
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Removed>(actions[0]).address, ip(2));
    EXPECT_EQ(std::get<Failed>(actions[1]).address, ip(3));
    EXPECT_FALSE(engine.deadline());
}

TEST(Engine, ForgetsANeighbourWhoseAddressBecomesOurs) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    const auto actions = engine.set_addresses({{ip(2), 24}}, 0);
    ASSERT_TRUE(only<Removed>(actions));
    EXPECT_TRUE(engine.neighbours(0).empty());
}

}  // namespace
}  // namespace verbline::neighbour
