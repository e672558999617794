// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/arp.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace verbline::host {
namespace {

using wire::ArpOperation;
using wire::Ipv4Address;

HardwareAddress mac(unsigned n) {
    wire::MacAddress address;
    address.bytes[0] = std::byte{2};
    address.bytes[5] = static_cast<std::byte>(n);
    return address;
}
HardwareAddress ipoib(unsigned qpn) {
    return wire::IpoibAddress{.qpn = wire::Qpn{qpn},
                              .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{qpn})};
}
constexpr Ipv4Address ip(unsigned host) {
    return wire::ipv4(10, 0, 0, host);
}

const HardwareAddress our_link = mac(1), their_link = mac(2), other_link = mac(3);

ArpMessage request(const HardwareAddress& link, Ipv4Address from, Ipv4Address to) {
    return {ArpOperation::request, link, from, unknown_like(link), to};
}
ArpMessage reply(const HardwareAddress& link, Ipv4Address from, const HardwareAddress& to_link, Ipv4Address to) {
    return {ArpOperation::reply, link, from, to_link, to};
}
Arp::Actions hear(Arp& arp, const ArpMessage& message, Time now) {
    std::array<std::byte, ArpMessage::max_size> bytes{};
    const auto size = message.emit(bytes);
    return arp.received(wire::Bytes(bytes).first(size), now);
}
/// 10.0.0.1/24.
struct Ours : Arp {
    explicit Ours(const ArpLimits& limits = {}) : Arp(our_link, {}, limits) { set_addresses({{ip(1), 24}}); }
};
Arp::Actions resolve_and_hear(Arp& arp, unsigned host, const HardwareAddress& link, Time now) {
    arp.resolve(ip(host), now);
    return hear(arp, reply(link, ip(host), our_link, ip(1)), now);
}

template <class T>
const T* only(const Arp::Actions& actions) {
    return actions.size() == 1 ? std::get_if<T>(&actions.front()) : nullptr;
}
std::optional<Arp::State> state_of(const Arp& arp, Ipv4Address address, Time now = 0) {
    for (const auto& neighbour : arp.neighbours(now)) {
        if (neighbour.ip == address) return neighbour.state;
    }
    return std::nullopt;
}

TEST(Arp, AsksEveryoneAndTellsTheDatapath) {
    Ours arp;
    const auto asked = arp.resolve(ip(2), 0);
    const auto* question = only<Arp::SendArp>(asked);
    ASSERT_TRUE(question);
    EXPECT_EQ(question->message, request(our_link, ip(1), ip(2)));
    EXPECT_FALSE(question->to) << "broadcast";
    EXPECT_TRUE(arp.resolve(ip(2), 1).empty()) << "one question is out already";

    const auto told = hear(arp, reply(their_link, ip(2), our_link, ip(1)), millisecond);
    const auto* resolved = only<Arp::Resolved>(told);
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->ip, ip(2));
    EXPECT_EQ(resolved->link, their_link);
    EXPECT_EQ(state_of(arp, ip(2)), Arp::State::reachable);
    EXPECT_TRUE(only<Arp::Resolved>(arp.resolve(ip(2), second))) << "a datapath that asks again is told again";
}

TEST(Arp, GivesUpAfterThreeTries) {
    Ours arp;
    arp.resolve(ip(2), 0);
    EXPECT_EQ(arp.deadline(), 200 * millisecond);
    EXPECT_TRUE(only<Arp::SendArp>(arp.tick(200 * millisecond)));
    EXPECT_EQ(arp.deadline(), 1200 * millisecond);
    EXPECT_TRUE(only<Arp::SendArp>(arp.tick(1200 * millisecond)));
    EXPECT_TRUE(arp.tick(2199 * millisecond).empty());
    EXPECT_TRUE(only<Arp::Failed>(arp.tick(2200 * millisecond)));
    EXPECT_FALSE(arp.deadline());
    EXPECT_TRUE(only<Arp::SendArp>(arp.resolve(ip(2), 3 * second))) << "and begins anew";
    EXPECT_EQ(arp.counters().arp_failed.value(), 1u);
}

TEST(Arp, AsksFromTheAddressOfTheSameSubnet) {
    Arp arp(our_link);
    arp.set_addresses({{wire::ipv4(192, 168, 0, 1), 24}, {ip(1), 24}});
    EXPECT_EQ(only<Arp::SendArp>(arp.resolve(ip(2), 0))->message.sender, ip(1));
    EXPECT_EQ(only<Arp::SendArp>(arp.resolve(wire::ipv4(172, 16, 0, 1), 0))->message.sender,
              wire::ipv4(192, 168, 0, 1));
}

TEST(Arp, AsksForNothingThatIsNoNeighbour) {
    Ours arp;
    for (const auto address :
         {ip(1), Ipv4Address{0}, wire::ipv4(127, 0, 0, 1), wire::ipv4(224, 0, 0, 1), wire::ipv4(255, 255, 255, 255)}) {
        EXPECT_TRUE(only<Arp::Failed>(arp.resolve(address, 0)));
    }
    Arp nobody(our_link);
    EXPECT_TRUE(only<Arp::Failed>(nobody.resolve(ip(2), 0))) << "no address to ask from";
}

TEST(Arp, AnswersForItselfOnly) {
    Ours arp;
    const auto answered = hear(arp, request(their_link, ip(2), ip(1)), 0);
    const auto* answer = only<Arp::SendArp>(answered);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->message, reply(our_link, ip(1), their_link, ip(2)));
    EXPECT_EQ(answer->to, their_link);
    EXPECT_TRUE(hear(arp, request(other_link, ip(3), ip(9)), 0).empty());
    EXPECT_EQ(arp.counters().arp_rx_dropped_not_ours.value(), 1u);
    EXPECT_FALSE(state_of(arp, ip(3))) << "who does not speak to us is not remembered";
}

TEST(Arp, AnswersAnInfiniBandNeighbourAtItsQpn) {
    Arp arp(ipoib(0x100));
    arp.set_addresses({{ip(1), 24}});
    const auto answered = hear(arp, request(ipoib(0x200), ip(2), ip(1)), 0);
    const auto* answer = only<Arp::SendArp>(answered);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->to, ipoib(0x200));
    EXPECT_EQ(to_string(answer->message.sender_link), "00:00:01:00:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:01:00");
}

TEST(Arp, DefendsItsAddressAgainstAProbe) {
    Ours arp;
    const auto answered = hear(arp, request(their_link, Ipv4Address{0}, ip(1)), 0);
    ASSERT_TRUE(only<Arp::SendArp>(answered));
    EXPECT_TRUE(arp.neighbours(0).empty()) << "0.0.0.0 is nobody";
}

TEST(Arp, TellsOfThoseWhoAskedUsOnlyWhenTheDatapathAsks) {
    Ours arp;
    EXPECT_TRUE(only<Arp::SendArp>(hear(arp, request(their_link, ip(2), ip(1)), 0))) << "the answer, and nothing else";
    EXPECT_EQ(state_of(arp, ip(2)), Arp::State::stale);
    const auto told = arp.resolve(ip(2), second);
    ASSERT_TRUE(only<Arp::Resolved>(told)) << "without a question on the link";
    const auto probe = arp.tick(*arp.deadline());
    ASSERT_TRUE(only<Arp::SendArp>(probe)) << "what nobody asked for is checked";
    EXPECT_EQ(only<Arp::SendArp>(probe)->to, their_link);
}

TEST(Arp, ForgetsThoseTheDatapathNeverAskedFor) {
    Ours arp;
    hear(arp, request(their_link, ip(2), ip(1)), 0);
    arp.tick(50 * second);
    hear(arp, request(their_link, ip(2), ip(1)), 50 * second);
    EXPECT_TRUE(arp.tick(60 * second).empty());
    EXPECT_EQ(arp.neighbours(0).size(), 1u) << "heard of again meanwhile";
    EXPECT_TRUE(arp.tick(110 * second).empty()) << "nobody needs to be told";
    EXPECT_TRUE(arp.neighbours(0).empty());
}

TEST(Arp, RemembersNobodyFromOutsideItsSubnets) {
    Ours arp;
    EXPECT_EQ(hear(arp, request(their_link, wire::ipv4(192, 168, 0, 2), ip(1)), 0).size(), 1u) << "but answers";
    EXPECT_TRUE(arp.neighbours(0).empty());
}

TEST(Arp, FollowsANeighbourToItsNewAddress) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    const auto told = hear(arp, request(other_link, ip(2), ip(2)), second);  // gratuitous
    const auto* resolved = only<Arp::Resolved>(told);
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->link, other_link);
    EXPECT_EQ(state_of(arp, ip(2)), Arp::State::stale) << "believed, but checked";
    EXPECT_EQ(arp.deadline(), 6 * second);
    EXPECT_EQ(arp.counters().arp_changed.value(), 1u);
    EXPECT_TRUE(hear(arp, request(other_link, ip(7), ip(7)), second).empty()) << "of others nothing is learned";
    EXPECT_EQ(arp.neighbours(0).size(), 1u);
    const auto check = arp.tick(6 * second);
    ASSERT_TRUE(only<Arp::SendArp>(check));
    EXPECT_EQ(only<Arp::SendArp>(check)->to, other_link);
}

TEST(Arp, DoesNotTakeAWordForAnAnswer) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    EXPECT_EQ(hear(arp, reply(other_link, ip(2), our_link, ip(1)), second).size(), 1u);
    EXPECT_EQ(state_of(arp, ip(2)), Arp::State::stale) << "nobody had asked";
    arp.resolve(ip(3), second);
    hear(arp, reply(mac(4), ip(3), their_link, ip(2)), second);
    EXPECT_EQ(state_of(arp, ip(3)), Arp::State::stale) << "it answered another";
}

TEST(Arp, AsksANeighbourNowAndThenWhetherItIsThere) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    EXPECT_EQ(arp.deadline(), 30 * second);
    const auto probes = arp.tick(30 * second);
    ASSERT_TRUE(only<Arp::SendArp>(probes));
    EXPECT_EQ(only<Arp::SendArp>(probes)->to, their_link);
    EXPECT_EQ(state_of(arp, ip(2)), Arp::State::probe);
    EXPECT_TRUE(hear(arp, reply(their_link, ip(2), our_link, ip(1)), 30 * second + 1).empty()) << "nothing new";
    EXPECT_EQ(state_of(arp, ip(2)), Arp::State::reachable);
    EXPECT_EQ(arp.deadline(), 60 * second + 1);
}

TEST(Arp, AsksEveryoneBeforeItGivesANeighbourUp) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    int unicast = 0, broadcast = 0, removed = 0;
    for (int i = 0; i < 20 && arp.deadline(); ++i) {
        for (const auto& action : arp.tick(*arp.deadline())) {
            if (const auto* send = std::get_if<Arp::SendArp>(&action)) {
                EXPECT_TRUE(send->to || unicast == 3) << "first the neighbour itself";
                ++(send->to ? unicast : broadcast);
            }
            removed += std::holds_alternative<Arp::Removed>(action);
        }
    }
    EXPECT_EQ(unicast, 3);
    EXPECT_EQ(broadcast, 3);
    EXPECT_EQ(removed, 1);
    EXPECT_FALSE(arp.deadline());
    EXPECT_TRUE(arp.neighbours(0).empty());
}

TEST(Arp, FindsAgainWhoAnswersFromElsewhere) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    for (int i = 0; i < 4; ++i) arp.tick(*arp.deadline());
    const auto told = hear(arp, reply(other_link, ip(2), our_link, ip(1)), 33 * second);
    ASSERT_TRUE(only<Arp::Resolved>(told));
    EXPECT_EQ(only<Arp::Resolved>(told)->link, other_link);
    EXPECT_EQ(state_of(arp, ip(2)), Arp::State::reachable);
}

TEST(Arp, RefusesWhoClaimsItsAddressAndSaysSoOnce) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    const auto defence = hear(arp, reply(other_link, ip(1), their_link, ip(2)), 0);
    ASSERT_TRUE(only<Arp::SendArp>(defence));
    EXPECT_EQ(only<Arp::SendArp>(defence)->message, request(our_link, ip(1), ip(1)));
    EXPECT_TRUE(hear(arp, request(other_link, ip(1), ip(2)), 9 * second).empty());
    EXPECT_EQ(hear(arp, request(other_link, ip(1), ip(2)), 10 * second).size(), 1u);
    EXPECT_EQ(arp.counters().arp_rx_dropped_conflict.value(), 3u);
    EXPECT_EQ(arp.neighbours(0).size(), 1u);
}

TEST(Arp, AnnouncesItsAddressesTwice) {
    Arp arp(our_link);
    arp.set_addresses({{ip(1), 24}, {wire::ipv4(10, 9, 0, 1), 24}});
    EXPECT_EQ(arp.announce(0).size(), 2u);
    EXPECT_EQ(arp.deadline(), 2 * second);
    const auto again = arp.tick(2 * second);
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(std::get<Arp::SendArp>(again[0]).message, request(our_link, ip(1), ip(1)));
    EXPECT_FALSE(arp.deadline());
}

TEST(Arp, IgnoresItsOwnPacketsComeBack) {
    Ours arp;
    EXPECT_TRUE(hear(arp, request(our_link, ip(1), ip(1)), 0).empty());
    EXPECT_EQ(arp.counters().arp_rx_dropped_own.value(), 1u);
    EXPECT_EQ(arp.counters().arp_rx_dropped_conflict.value(), 0u);
}

TEST(Arp, RefusesWhatIsNotArpOfThisLink) {
    Ours arp;
    std::array<std::byte, ArpMessage::max_size> bytes{};
    const auto size = request(their_link, ip(2), ip(1)).emit(bytes);
    for (std::size_t n = 0; n < size; ++n) EXPECT_TRUE(arp.received(wire::Bytes(bytes).first(n), 0).empty());
    EXPECT_TRUE(hear(arp, request(ipoib(5), ip(2), ip(1)), 0).empty());
    auto unknown = request(their_link, ip(2), ip(1));
    unknown.operation = ArpOperation{3};
    EXPECT_TRUE(hear(arp, unknown, 0).empty());
    EXPECT_TRUE(hear(arp, request(wire::broadcast_mac, ip(2), ip(1)), 0).empty());
    EXPECT_TRUE(hear(arp, request(wire::MacAddress{}, ip(2), ip(1)), 0).empty());
    EXPECT_EQ(arp.counters().arp_rx_dropped_malformed.value(), size + 4);
    EXPECT_TRUE(arp.neighbours(0).empty());
}

TEST(Arp, RefusesInfiniBandSendersThatCannotBe) {
    EXPECT_TRUE(is_neighbour_address(ipoib(2)));
    EXPECT_FALSE(is_neighbour_address(ipoib(1)));
    EXPECT_FALSE(is_neighbour_address(ipoib(0xffffff)));
    EXPECT_FALSE(is_neighbour_address(wire::IpoibAddress{.qpn = wire::Qpn{5}}));
    auto group = wire::Gid::of(0xff12'0000'0000'0000, wire::Guid{1});
    EXPECT_FALSE(is_neighbour_address(wire::IpoibAddress{.qpn = wire::Qpn{5}, .gid = group}));
}

TEST(Arp, WhatOthersSendCannotPushOutNeighboursInUse) {
    Ours arp({.neighbours = 3});
    resolve_and_hear(arp, 2, their_link, 0);
    arp.resolve(ip(3), 0);
    for (unsigned host = 10; host < 20; ++host) hear(arp, request(mac(host), ip(host), ip(1)), 0);
    EXPECT_EQ(arp.neighbours(0).size(), 3u);
    EXPECT_TRUE(state_of(arp, ip(2)) && state_of(arp, ip(3)) && state_of(arp, ip(19)));

    EXPECT_EQ(arp.resolve(ip(4), 0).size(), 1u) << "at the expense of one only heard of, of which nobody need be told";
    hear(arp, request(mac(20), ip(20), ip(1)), 0);
    EXPECT_FALSE(state_of(arp, ip(20)));
    EXPECT_EQ(arp.counters().arp_rx_not_learned.value(), 1u);

    const auto actions = arp.resolve(ip(5), 0);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Arp::Failed>(actions[0]).ip, ip(3))
        << "then of one that nobody has answered for, the oldest first";
    arp.resolve(ip(6), 0);
    hear(arp, reply(mac(5), ip(5), our_link, ip(1)), 0);
    hear(arp, reply(mac(6), ip(6), our_link, ip(1)), 0);
    EXPECT_TRUE(state_of(arp, ip(2)) && state_of(arp, ip(5)) && state_of(arp, ip(6)));
}

TEST(Arp, GivesUpTheNeighbourHeardOfLongestAgo) {
    Ours arp({.neighbours = 2});
    resolve_and_hear(arp, 2, their_link, 0);
    resolve_and_hear(arp, 3, other_link, 1);
    arp.tick(30 * second);  // asks 10.0.0.2
    hear(arp, reply(their_link, ip(2), our_link, ip(1)), 30 * second + 2);
    const auto actions = arp.resolve(ip(4), 30 * second + 3);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Arp::Removed>(actions[0]).ip, ip(3));
}

TEST(Arp, AnswersSoManyPerSecond) {
    Ours arp({.answers_per_second = 100, .burst = 10});
    std::size_t answered = 0;
    for (Time now = 0; now < second; now += millisecond)
        answered += hear(arp, request(their_link, ip(2), ip(1)), now).size();
    EXPECT_NEAR(static_cast<double>(answered), 110, 1);
    EXPECT_EQ(arp.counters().arp_tx_dropped_rate.value(), 1000 - answered);
}

TEST(Arp, BroadcastsSoManyPerSecond) {
    Ours arp({.broadcasts_per_second = 100, .burst = 10});
    std::size_t sent = 0;
    for (unsigned host = 2; host < 200; ++host) sent += arp.resolve(ip(host), 0).size();
    EXPECT_EQ(sent, 10u);
    EXPECT_EQ(arp.neighbours(0).size(), 198u) << "the rest is asked for at its next try";
}

TEST(Arp, ForgetsEveryoneWithTheLink) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    arp.resolve(ip(3), 0);
    hear(arp, request(mac(4), ip(4), ip(1)), 0);
    arp.announce(0);
    const auto actions = arp.clear();
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Arp::Removed>(actions[0]).ip, ip(2));
    EXPECT_EQ(std::get<Arp::Failed>(actions[1]).ip, ip(3));
    EXPECT_FALSE(arp.deadline());
}

TEST(Arp, ForgetsANeighbourWhoseAddressBecomesOurs) {
    Ours arp;
    resolve_and_hear(arp, 2, their_link, 0);
    const auto actions = arp.set_addresses({{ip(2), 24}});
    ASSERT_TRUE(only<Arp::Removed>(actions));
    EXPECT_TRUE(arp.neighbours(0).empty());
}

}  // namespace
}  // namespace verbline::host
