// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"

namespace verbline::router {
namespace {

using testing::Contains, testing::ElementsAre, testing::IsEmpty, testing::Not, testing::UnorderedElementsAre;
using Action = Proxy::Action;
using wire::Gid;

constexpr Proxy::Port lan{0}, fabric{1}, other{2};

Gid host(unsigned number) {
    return link::gid_of(wire::ipv4(10, 9, number / 256, number % 256));
}
Gid ipv6(unsigned number) {
    return Gid::of(0xfd76'0009'0000'0000, wire::Guid{number});
}

class ProxyTest : public testing::Test {
protected:
    ProxyTest() {
        EXPECT_THAT(proxy.set_addresses(lan, {{host(1), 16}, {ipv6(1), 64}}), IsEmpty());
        EXPECT_THAT(proxy.set_addresses(fabric, {{host(2), 16}, {ipv6(2), 64}}), IsEmpty());
        EXPECT_THAT(proxy.set_addresses(other, {{link::gid_of(wire::ipv4(10, 8, 0, 1)), 24}}), IsEmpty());
    }
    static neighbour::Message request(const Gid& from, const Gid& subject) {
        return neighbour::request(wire::MacAddress{{std::byte{2}}}, from, subject);
    }
    static neighbour::Message probe(const Gid& subject) {
        return neighbour::request(wire::MacAddress{{std::byte{2}}}, std::nullopt, subject);
    }
    Proxy::Actions ask(Proxy::Port port, const Gid& from, const Gid& subject) {
        return proxy.requested(port, request(from, subject), now);
    }
    /// The host is found on the port.
    void settle(Proxy::Port port, const Gid& address) { proxy.resolved(port, address, now); }

    Proxy proxy{8};
    Time now = 100 * second;
};

TEST_F(ProxyTest, AsksOnAllLinksAndAnswersForWhatIsFoundElsewhere) {
    EXPECT_THAT(ask(lan, host(10), host(20)),
                UnorderedElementsAre(Action(Proxy::Resolve{lan, host(20)}), Action(Proxy::Resolve{fabric, host(20)})));
    EXPECT_THAT(ask(lan, host(10), host(20)), IsEmpty()) << "it is being asked for";
    const auto found = proxy.resolved(fabric, host(20), now);
    ASSERT_GE(found.size(), 2U);
    EXPECT_EQ(found[0], Action(Proxy::AddRoute{fabric, host(20)})) << "before anybody may send by it";
    EXPECT_EQ(found[1], Action(Proxy::Answer{lan, request(host(10), host(20))}));
    EXPECT_EQ(proxy.find(host(20)), fabric);
    EXPECT_THAT(found, Contains(Action(Proxy::Resolve{lan, host(10)}))) << "who will be answered soon";
    EXPECT_THAT(ask(lan, host(11), host(20)), Contains(Action(Proxy::Answer{lan, request(host(11), host(20))})))
        << "at once, now that it is known";
}

TEST_F(ProxyTest, NeverAnswersForAHostOnTheLinkOfWhoAsks) {
    ask(lan, host(10), host(20));
    EXPECT_THAT(proxy.resolved(lan, host(20), now), ElementsAre(Action(Proxy::AddRoute{lan, host(20)})));
    EXPECT_THAT(ask(lan, host(10), host(20)), IsEmpty());
    EXPECT_EQ(proxy.counters().proxy_same_link.value(), 2U);
    EXPECT_EQ(proxy.counters().proxy_answers.value(), 0U);
}

TEST_F(ProxyTest, RemovesAddressUnansweredOnAllLinks) {
    ask(lan, host(10), host(20));
    EXPECT_THAT(proxy.lost(lan, host(20), now), IsEmpty());
    EXPECT_EQ(proxy.size(), 1U) << "the other link may have it";
    EXPECT_THAT(proxy.lost(fabric, host(20), now), IsEmpty());
    EXPECT_EQ(proxy.size(), 0U);
    EXPECT_EQ(proxy.counters().proxy_unanswered.value(), 1U);
}

TEST_F(ProxyTest, TakesTheRouteBackWhenAHostIsGone) {
    settle(fabric, host(20));
    EXPECT_THAT(proxy.lost(fabric, host(20), now), ElementsAre(Action(Proxy::RemoveRoute{fabric, host(20)})));
    EXPECT_EQ(proxy.find(host(20)), std::nullopt);
    EXPECT_EQ(proxy.size(), 0U);
}

TEST_F(ProxyTest, AnswersForItsOwnAddressesOnOtherPorts) {
    EXPECT_THAT(ask(lan, host(10), host(2)), Contains(Action(Proxy::Answer{lan, request(host(10), host(2))})));
}

TEST_F(ProxyTest, LeavesOtherNetworksAlone) {
    EXPECT_THAT(ask(lan, host(10), link::gid_of(wire::ipv4(10, 7, 0, 1))), IsEmpty());
    EXPECT_THAT(ask(other, link::gid_of(wire::ipv4(10, 8, 0, 7)), link::gid_of(wire::ipv4(10, 8, 0, 9))), IsEmpty())
        << "on one link alone";
    EXPECT_THAT(ask(lan, link::gid_of(wire::ipv4(10, 7, 0, 1)), host(20)), IsEmpty()) << "nobody of this link";
    const auto link_local = Gid::of(0xfe80'0000'0000'0000, wire::Guid{7});
    EXPECT_THAT(ask(lan, ipv6(10), link_local), IsEmpty()) << "each link has its own";
    EXPECT_THAT(proxy.resolved(other, link::gid_of(wire::ipv4(10, 8, 0, 9)), now), IsEmpty());
    EXPECT_EQ(proxy.size(), 0U);
    EXPECT_THAT(ask(lan, link_local, ipv6(20)), Not(IsEmpty())) << "a solicitation may be from such an address";
}

TEST_F(ProxyTest, AHostThatMovesIsFoundOnceItNoLongerAnswersWhereItWas) {
    settle(fabric, host(20));
    EXPECT_THAT(proxy.heard(fabric, host(20), now), IsEmpty());
    EXPECT_THAT(proxy.heard(lan, host(20), now),
                UnorderedElementsAre(Action(Proxy::Verify{fabric, host(20)}), Action(Proxy::Resolve{lan, host(20)})));
    EXPECT_THAT(proxy.heard(lan, host(20), now), IsEmpty()) << "not for each of its messages";
    EXPECT_THAT(proxy.resolved(lan, host(20), now), IsEmpty());
    EXPECT_EQ(proxy.find(host(20)), fabric) << "it may be another proxy that answers";
    EXPECT_THAT(proxy.lost(fabric, host(20), now),
                ElementsAre(Action(Proxy::RemoveRoute{fabric, host(20)}), Action(Proxy::AddRoute{lan, host(20)})));
    EXPECT_EQ(proxy.find(host(20)), lan);
    EXPECT_EQ(proxy.counters().proxy_hosts_moved.value(), 1U);
}

TEST_F(ProxyTest, AHostThatStillAnswersStaysThoughAnotherLinkClaimsIt) {
    settle(fabric, host(20));
    EXPECT_THAT(proxy.resolved(lan, host(20), now), Contains(Action(Proxy::Verify{fabric, host(20)})));
    EXPECT_THAT(proxy.resolved(fabric, host(20), now), IsEmpty());
    EXPECT_EQ(proxy.find(host(20)), fabric);
    EXPECT_EQ(proxy.counters().proxy_conflicts.value(), 1U);
}

TEST_F(ProxyTest, AProbeIsAnsweredOnlyForAHostThatStillAnswers) {
    settle(fabric, ipv6(20));
    EXPECT_THAT(proxy.requested(lan, probe(ipv6(20)), now), Contains(Action(Proxy::Verify{fabric, ipv6(20)})));
    EXPECT_THAT(proxy.resolved(fabric, ipv6(20), now), ElementsAre(Action(Proxy::Answer{lan, probe(ipv6(20))})));
    proxy.requested(lan, probe(ipv6(20)), now);
    proxy.lost(lan, ipv6(20), now);
    EXPECT_THAT(proxy.lost(fabric, ipv6(20), now), ElementsAre(Action(Proxy::RemoveRoute{fabric, ipv6(20)})))
        << "it has moved: the address is its own";
}

TEST_F(ProxyTest, LooksForWhatTheGatewayItselfIsToReach) {
    EXPECT_THAT(proxy.wanted(lan, host(20), now), Contains(Action(Proxy::Resolve{fabric, host(20)})));
    EXPECT_THAT(proxy.resolved(fabric, host(20), now), ElementsAre(Action(Proxy::AddRoute{fabric, host(20)})));
    EXPECT_THAT(proxy.wanted(lan, host(20), now), IsEmpty());
    EXPECT_THAT(proxy.wanted(lan, host(2), now), IsEmpty());
}

TEST_F(ProxyTest, IsBounded) {
    for (unsigned i = 0; i < 100; ++i) ask(lan, host(10), host(1000 + i));
    EXPECT_EQ(proxy.size(), 2U) << "addresses that are asked for are a fourth";
    EXPECT_EQ(proxy.counters().proxy_dropped_waiting.value(), 98U);
    for (unsigned i = 0; i < 2; ++i) proxy.lost(lan, host(1000 + i), now), proxy.lost(fabric, host(1000 + i), now);
    for (unsigned i = 0; i < 8; ++i) settle(fabric, host(100 + i));
    const auto more = proxy.resolved(fabric, host(200), now);
    EXPECT_THAT(more,
                ElementsAre(Action(Proxy::RemoveRoute{fabric, host(100)}), Action(Proxy::AddRoute{fabric, host(200)})))
        << "the oldest goes";
    EXPECT_EQ(proxy.size(), 8U);
}

TEST_F(ProxyTest, BoundsWaitersPerAddress) {
    for (unsigned i = 0; i < 10; ++i) ask(lan, host(10 + i), host(20));
    const auto found = proxy.resolved(fabric, host(20), now);
    EXPECT_EQ(
        std::ranges::count_if(found, [](const auto& each) { return std::holds_alternative<Proxy::Answer>(each); }),
        static_cast<long>(Proxy::max_waiting));
}

TEST_F(ProxyTest, RemovesHostRoutesWhenAddressesChange) {
    settle(fabric, host(20));
    EXPECT_THAT(proxy.set_addresses(lan, {{ipv6(1), 64}}), ElementsAre(Action(Proxy::RemoveRoute{fabric, host(20)})))
        << "it is on one link alone now";
    settle(fabric, ipv6(20));
    EXPECT_THAT(proxy.set_addresses(lan, {{ipv6(20), 64}}), ElementsAre(Action(Proxy::RemoveRoute{fabric, ipv6(20)})))
        << "it is ours now";
}

TEST_F(ProxyTest, APortThatIsRemovedTakesItsHostsAndItsRequestsAlong) {
    settle(fabric, host(20)), settle(fabric, ipv6(21)), settle(lan, host(10));
    ask(fabric, host(22), host(30));
    EXPECT_THAT(proxy.remove_port(fabric), UnorderedElementsAre(Action(Proxy::RemoveRoute{fabric, host(20)}),
                                                                Action(Proxy::RemoveRoute{fabric, ipv6(21)}),
                                                                Action(Proxy::RemoveRoute{lan, host(10)})))
        << "that of lan is on one link alone now";
    EXPECT_EQ(proxy.size(), 1U) << "lan is being asked for another";
    EXPECT_EQ(proxy.counters().proxy_unanswered.value(), 1U);
    EXPECT_THAT(proxy.resolved(lan, host(30), now), IsEmpty());
    EXPECT_THAT(proxy.lost(lan, host(30), now), IsEmpty());
    EXPECT_EQ(proxy.size(), 0U);
    EXPECT_THAT(ask(lan, host(10), host(20)), IsEmpty());
    EXPECT_THAT(proxy.remove_port(fabric), IsEmpty());
}

TEST_F(ProxyTest, OthersStayWhenAPortIsRemoved) {
    proxy.set_addresses(other, {{host(3), 16}});
    settle(lan, host(10));
    ask(fabric, host(20), host(11));
    ask(other, host(30), host(11));
    EXPECT_THAT(proxy.remove_port(fabric), IsEmpty());
    EXPECT_EQ(proxy.find(host(10)), lan);
    EXPECT_THAT(
        proxy.resolved(lan, host(11), now),
        ElementsAre(Action(Proxy::AddRoute{lan, host(11)}), Action(Proxy::Answer{other, request(host(30), host(11))}),
                    Action(Proxy::Resolve{lan, host(30)}), Action(Proxy::Resolve{other, host(30)})))
        << "who asked on a port that is left is answered";
}

}  // namespace
}  // namespace verbline::router
