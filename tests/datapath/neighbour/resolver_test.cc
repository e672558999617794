// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/resolver.h"

#include <array>
#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include "datapath/neighbour/arp.h"
#include "tests/datapath/neighbour/resolver_fixture.h"

namespace verbline::neighbour {
namespace {

using test_resolver::answers, test_resolver::asks, test_resolver::hear, test_resolver::ip, test_resolver::ipoib,
    test_resolver::ipv4, test_resolver::nobody, test_resolver::only, test_resolver::other_link, test_resolver::our_link,
    test_resolver::Ours, test_resolver::resolve_and_hear, test_resolver::state_of, test_resolver::their_link;

TEST(Resolver, BroadcastsRequestsAndReportsTheReply) {
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

TEST(Resolver, GivesUpAfterThreeTries) {
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

TEST(Resolver, SolicitsFromTheAddressOfTheSameSubnet) {
    Resolver engine(our_link);
    engine.set_addresses({{ipv4(192, 168, 0, 1), 24}, {ip(1), 24}}, 0);
    EXPECT_EQ(only<Send>(engine.resolve(ip(2), 0))->message.source, ip(1));
    EXPECT_EQ(only<Send>(engine.resolve(ipv4(172, 16, 0, 1), 0))->message.source, ipv4(192, 168, 0, 1));
}

TEST(Resolver, SolicitsNoAddressOffTheLink) {
    Ours engine;
    for (const auto address : {ip(1), nobody, ipv4(127, 0, 0, 1), ipv4(224, 0, 0, 1), ipv4(255, 255, 255, 255)}) {
        EXPECT_TRUE(only<Failed>(engine.resolve(address, 0)));
    }
    Resolver nowhere(our_link);
    EXPECT_TRUE(only<Failed>(nowhere.resolve(ip(2), 0))) << "no address to ask from";
}

TEST(Resolver, AnswersForItselfOnly) {
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

TEST(Resolver, AnswersAnInfiniBandNeighbourAtItsQpn) {
    Resolver engine(ipoib(0x100));
    engine.set_addresses({{ip(1), 24}}, 0);
    const auto answered = hear(engine, asks(ipoib(0x200), ip(2), ip(1)), 0);
    const auto* answer = only<Send>(answered);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->to, ipoib(0x200));
    EXPECT_EQ(to_string(*answer->message.at), "00:00:01:00:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:01:00");
}

TEST(Resolver, DefendsItsAddressAgainstAProbe) {
    Ours engine;
    const auto answered = hear(engine, asks(their_link, nobody, ip(1)), 0);
    ASSERT_TRUE(only<Send>(answered));
    EXPECT_TRUE(engine.neighbours(0).empty()) << "0.0.0.0 is nobody";
}

TEST(Resolver, DefendsItsAddressAndReportsTheConflictOnce) {
    Ours engine;
    resolve_and_hear(engine, 2, their_link, 0);
    const auto defence = hear(engine, answers(other_link, ip(1), ip(2)), 0);
    ASSERT_EQ(defence.size(), 2u);
    EXPECT_EQ(std::get<Send>(defence[0]).message, asks(our_link, ip(1), ip(1)));
    EXPECT_EQ(std::get<Conflict>(defence[1]).address, ip(1));
    EXPECT_TRUE(hear(engine, asks(other_link, ip(1), ip(2)), 9 * second).empty());
    EXPECT_EQ(hear(engine, asks(other_link, ip(1), ip(2)), 10 * second).size(), 1u);
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_conflict), 3u);
    EXPECT_EQ(engine.neighbours(0).size(), 1u);
}

TEST(Resolver, AnnouncesItsAddressesTwice) {
    Resolver engine(our_link);
    engine.set_addresses({{ip(1), 24}, {ipv4(10, 9, 0, 1), 24}}, 0);
    EXPECT_EQ(engine.announce(0).size(), 2u);
    EXPECT_EQ(engine.deadline(), 2 * second);
    const auto again = engine.tick(2 * second);
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(std::get<Send>(again[0]).message, asks(our_link, ip(1), ip(1)));
    EXPECT_FALSE(engine.deadline());
}

TEST(Resolver, IgnoresReflectedPackets) {
    Ours engine;
    EXPECT_TRUE(hear(engine, asks(our_link, ip(1), ip(1)), 0).empty());
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_own), 1u);
    EXPECT_EQ(engine.counters().value(Event::rx_dropped_conflict), 0u);
}

TEST(Resolver, RejectsMalformedAndForeignArp) {
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

TEST(Resolver, RejectsInvalidInfiniBandSenders) {
    EXPECT_TRUE(is_host(ipoib(2)));
    EXPECT_FALSE(is_host(ipoib(1)));
    EXPECT_FALSE(is_host(ipoib(0xffffff)));
    EXPECT_FALSE(is_host(wire::IpoibAddress{.qpn = wire::Qpn{5}}));
    auto group = wire::Gid::of(0xff12'0000'0000'0000, wire::Guid{1});
    EXPECT_FALSE(is_host(wire::IpoibAddress{.qpn = wire::Qpn{5}, .gid = group}));
}

TEST(Resolver, RateLimitsReplies) {
    Ours engine({.answers_per_second = 100, .burst = 10});
    std::size_t answered = 0;
    for (Time now = 0; now < second; now += millisecond)
        answered += hear(engine, asks(their_link, ip(2), ip(1)), now).size();
    EXPECT_NEAR(static_cast<double>(answered), 110, 1);
    EXPECT_EQ(engine.counters().value(Event::tx_dropped_rate), 1000 - answered);
}

TEST(Resolver, RateLimitsBroadcasts) {
    Ours engine({.multicasts_per_second = 100, .burst = 10});
    std::size_t sent = 0;
    for (unsigned host = 2; host < 200; ++host) sent += engine.resolve(ip(host), 0).size();
    EXPECT_EQ(sent, 10u);
    EXPECT_EQ(engine.neighbours(0).size(), 198u) << "the rest is asked for at its next try";
}

TEST(Resolver, AnswersForProxiedAddresses) {
    Ours engine;
    const auto sent = engine.answer_for_other(asks(their_link, ip(2), ip(7)), 0);
    ASSERT_EQ(sent.size(), 1U);
    const auto& [message, to] = std::get<Send>(sent[0]);
    EXPECT_EQ(to, their_link);
    EXPECT_EQ(message.source, ip(7));
    EXPECT_EQ(message.at, our_link);
    EXPECT_EQ(message.subject, ip(2));
    EXPECT_TRUE(message.solicited);
    EXPECT_FALSE(message.overrides) << "RFC 4861, 7.2.8";
    EXPECT_FALSE(message.router);
    auto without_link = asks(their_link, ip(2), ip(7));
    without_link.at.reset();
    EXPECT_TRUE(engine.answer_for_other(without_link, 0).empty());
}

TEST(Resolver, RecognizesMessagesFromOwnAddresses) {
    Ours engine;
    EXPECT_TRUE(engine.is_own(asks(our_link, ip(1), ip(7))));
    EXPECT_TRUE(engine.is_own(asks(their_link, ip(1), ip(7)))) << "another's, with our address";
    EXPECT_FALSE(engine.is_own(asks(their_link, ip(2), ip(1))));
}

}  // namespace
}  // namespace verbline::neighbour
