// SPDX-License-Identifier: BSD-3-Clause
// The engine on an IPoIB link, by packets of ND, for a caller that resolves on demand.
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/neighbour/resolver.h"

namespace verbline::neighbour {
namespace {

using wire::Gid;
using wire::IpoibAddress;

constexpr Gid address(unsigned n) {
    return Gid::of(0xfd00'0000'0000'0000, wire::Guid{n});
}
constexpr IpoibAddress link_of(unsigned n) {
    return {.qpn = wire::Qpn{0x40 + n}, .gid = Gid::of(wire::default_subnet_prefix, wire::Guid{n})};
}

/// A host, and the actions of its engine.
struct IpoibHost {
    explicit IpoibHost(unsigned n, std::size_t capacity = 1024)
        : number(n), engine(link_of(n), {.use = Use::on_demand, .capacity = capacity}) {
        set_addresses({{address(n), 64}});
    }

    void set_addresses(std::vector<link::InterfaceAddress> addresses) {
        groups = groups_of(addresses);
        take(engine.set_addresses(addresses, 0));
    }
    void receive(wire::Bytes packet, Time now) { take(engine.received(read_discovery<IpoibAddress>(packet), now)); }

    void take(const Actions& actions) {
        for (const auto& action : actions) {
            if (const auto* send = std::get_if<Send>(&action)) sent.push_back(*send);
            if (const auto* found = std::get_if<Resolved>(&action))
                resolved[found->address] = std::get<IpoibAddress>(found->link);
            if (const auto* lost = std::get_if<Failed>(&action)) failed.insert(lost->address);
        }
    }
    void pass(Time until) {
        while (engine.deadline() && *engine.deadline() <= until) take(engine.tick(*engine.deadline()));
    }
    std::uint64_t count(std::string_view name) const {
        std::uint64_t found = ~std::uint64_t{0};
        engine.counters().each(Family::ipv6,
                               [&](auto each, auto value, auto) { found = each == name ? value : found; });
        return found;
    }

    unsigned number;
    Resolver engine;
    std::vector<Gid> groups;
    std::vector<Send> sent;
    std::map<Gid, IpoibAddress> resolved;
    std::set<Gid> failed;
};

std::vector<std::byte> packet_of(const Send& send) {
    std::vector<std::byte> packet(max_discovery_size);
    packet.resize(write_discovery(packet, send.message, send.to.has_value()));
    return packet;
}

/// Delivers all packets that were sent to their receivers.
void carry(std::initializer_list<IpoibHost*> hosts, Time now) {
    for (bool moved = true; moved;) {
        moved = false;
        for (auto* from : hosts) {
            for (const auto& send : std::exchange(from->sent, {})) {
                moved = true;
                for (auto* to : hosts) {
                    const auto group = multicast_group_of(send.message);
                    const bool concerned = send.to ? *send.to == LinkAddress(link_of(to->number))
                                                   : std::ranges::find(to->groups, group) != to->groups.end();
                    if (concerned) to->receive(packet_of(send), now);
                }
            }
        }
    }
}

TEST(ResolverOnIpoib, ResolvesTheOwnerOfAnAddress) {
    IpoibHost us(1), peer(2), other(3);
    us.take(us.engine.resolve(address(2), 0));
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_FALSE(us.sent[0].to);
    EXPECT_EQ(multicast_group_of(us.sent[0].message), solicited_node(address(2)));
    carry({&us, &peer, &other}, 0);
    EXPECT_EQ(us.resolved, (std::map<Gid, IpoibAddress>{{address(2), link_of(2)}}));
    // The solicitation has taught its receiver who sent it.
    peer.take(peer.engine.resolve(address(1), 0));
    EXPECT_EQ(peer.resolved.at(address(1)), link_of(1));
    EXPECT_EQ(other.engine.size(), 0u);
}

TEST(ResolverOnIpoib, SolicitsThreeTimesAndThenFails) {
    IpoibHost us(1);
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

TEST(ResolverOnIpoib, ALostSolicitationIsRepeated) {
    IpoibHost us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    us.sent.clear();
    us.pass(second);
    carry({&us, &peer}, second);
    EXPECT_TRUE(us.resolved.contains(address(2)));
}

TEST(ResolverOnIpoib, AStaleEntryIsReportedAndProbed) {
    IpoibHost us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    const Time later = 40 * second;
    us.pass(later);
    us.resolved.clear();
    us.take(us.engine.resolve(address(2), later));
    EXPECT_TRUE(us.resolved.contains(address(2)));
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_EQ(us.sent[0].to, LinkAddress(link_of(2)));
    // The neighbour answers no more.
    us.pass(later + 5 * second);
    EXPECT_EQ(us.engine.size(), 0u);
    EXPECT_EQ(us.count("nd_removed"), 1u);
}

TEST(ResolverOnIpoib, AnUnusedEntryExpires) {
    IpoibHost us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    us.pass(120 * second);
    EXPECT_EQ(us.engine.size(), 0u);
    EXPECT_EQ(us.sent.size(), 0u);
}

TEST(ResolverOnIpoib, AnotherLinkAddressIsBelievedWhenItOverrides) {
    IpoibHost us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    peer.engine.set_link(link_of(9));
    peer.take(peer.engine.announce(second));
    peer.pass(second);
    carry({&us, &peer}, second);
    EXPECT_EQ(us.resolved.at(address(2)), link_of(9));
    EXPECT_EQ(us.count("nd_changed"), 1u);
}

NeighbourState state_of(const IpoibHost& host, unsigned n) {
    const auto neighbours = host.engine.neighbours(0);
    return std::ranges::find(neighbours, address(n), &Neighbour::address)->state;
}

// RFC 4861, 7.2.5.
TEST(ResolverOnIpoib, AnotherLinkAddressThatDoesNotOverrideOnlyRaisesDoubt) {
    IpoibHost us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    EXPECT_EQ(state_of(us, 2), NeighbourState::reachable);
    us.receive(packet_of({{.source = address(2), .at = link_of(9), .overrides = false}, std::nullopt}), second);
    EXPECT_EQ(us.engine.find(address(2), second), LinkAddress(link_of(2)));
    EXPECT_EQ(state_of(us, 2), NeighbourState::stale);
    EXPECT_EQ(us.count("nd_changed"), 0u);
}

TEST(ResolverOnIpoib, AnAnswerToNoQuestionIsNoProof) {
    IpoibHost us(1), peer(2);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    us.receive(packet_of({reply(link_of(9), address(2), address(1)), link_of(1)}), second);
    EXPECT_EQ(us.resolved.at(address(2)), link_of(9));
    EXPECT_EQ(state_of(us, 2), NeighbourState::stale);
}

// RFC 4861, 4.3: a unicast solicitation may omit the option.
TEST(ResolverOnIpoib, ASolicitationWithoutItsOptionIsAnsweredIfItsSenderIsKnown) {
    IpoibHost us(1), peer(2);
    const Read asked{.kind = Kind::resolution,
                     .family = Family::ipv6,
                     .message = {.solicits = true, .source = address(2), .subject = address(1)}};
    us.take(us.engine.received(asked, 0));
    EXPECT_TRUE(us.sent.empty());
    EXPECT_EQ(us.count("nd_rx_dropped_no_link_address"), 1u);
    us.take(us.engine.resolve(address(2), 0));
    carry({&us, &peer}, 0);
    us.take(us.engine.received(asked, 0));
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_EQ(us.sent[0].to, LinkAddress(link_of(2)));
}

TEST(ResolverOnIpoib, UnsolicitedRepliesAreIgnored) {
    IpoibHost us(1), peer(2);
    peer.take(peer.engine.announce(0));
    peer.pass(0);
    carry({&us, &peer}, 0);
    EXPECT_EQ(us.engine.size(), 0u);
    EXPECT_EQ(us.count("nd_rx_dropped_unsolicited"), 1u);
}

TEST(ResolverOnIpoib, AnAddressConflictIsCountedAndReportedOnce) {
    IpoibHost us(1), thief(2);
    thief.set_addresses({{address(1), 64}});
    thief.take(thief.engine.announce(0));
    ASSERT_EQ(thief.sent.size(), 1u);
    us.receive(packet_of(thief.sent[0]), 0);
    EXPECT_EQ(us.count("nd_rx_dropped_conflict"), 1u);
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_EQ(us.sent[0].message, announcement(link_of(1), address(1)));
    us.receive(packet_of(thief.sent[0]), second);
    EXPECT_EQ(us.sent.size(), 1u) << "or two hosts would shout for ever";
}

TEST(ResolverOnIpoib, AProbeForOurAddressIsAnsweredToAll) {
    IpoibHost us(1), other(2);
    us.receive(packet_of({request(link_of(2), std::nullopt, address(1)), std::nullopt}), 0);
    ASSERT_EQ(us.sent.size(), 1u);
    EXPECT_FALSE(us.sent[0].to);
    EXPECT_EQ(multicast_group_of(us.sent[0].message), all_nodes);
    EXPECT_EQ(us.engine.size(), 0u);
}

/// One that detects duplicates, as routers' ports do, and its probes.
struct Probing {
    explicit Probing(std::uint64_t nonces)
        : engine(link_of(1), {.detect_duplicates = Detect::ipv6, .nonces = nonces, .use_tentative = false}) {}
    std::vector<Message> probe() {
        std::vector<Message> probes;
        for (const auto& action : engine.set_addresses({{address(1), 64}}, 0)) {
            const auto* send = std::get_if<Send>(&action);
            if (send != nullptr && !send->message.source) probes.push_back(send->message);
        }
        for (const auto& action : engine.tick(0)) {
            const auto* send = std::get_if<Send>(&action);
            if (send != nullptr && !send->message.source) probes.push_back(send->message);
        }
        return probes;
    }
    bool loses_to(const Message& probe) {
        const auto actions = engine.received(read_discovery<IpoibAddress>(packet_of({probe, std::nullopt})), 0);
        return std::ranges::any_of(actions, [](const auto& each) { return std::holds_alternative<Conflict>(each); });
    }
    Resolver engine;
};

/// RFC 7527, 4.2: what a loop of the link brings back is told from another host's by its nonce.
TEST(ResolverOnIpoib, AProbeThatComesBackIsItsOwn) {
    Probing us(7), other(8);
    const auto probes = us.probe();
    ASSERT_EQ(probes.size(), 1U);
    EXPECT_NE(probes[0].nonce, 0U);
    EXPECT_FALSE(us.loses_to(probes[0]));
    EXPECT_EQ(us.engine.counters().value(Event::rx_dropped_own), 1U);
    const auto others = other.probe();
    ASSERT_EQ(others.size(), 1U);
    EXPECT_TRUE(us.loses_to(others[0])) << "two hosts want one address";
}

TEST(ResolverOnIpoib, AProbeWithoutANonceIsAnotherHosts) {
    Probing us(7), old(0);
    us.probe();
    const auto probes = old.probe();
    ASSERT_EQ(probes.size(), 1U);
    EXPECT_EQ(probes[0].nonce, 0U);
    EXPECT_TRUE(us.loses_to(probes[0]));
}

TEST(ResolverOnIpoib, IsInTheGroupsOfItsAddresses) {
    IpoibHost us(1);
    us.set_addresses({{address(1), 64},
                      {Gid::of(wire::default_subnet_prefix, wire::Guid{1}), 64},
                      {link::gid_of(wire::ipv4(10, 0, 0, 1)), 24}});
    EXPECT_EQ(us.groups, (std::vector{all_nodes, solicited_node(address(1))}));
}

TEST(ResolverOnIpoib, HostsThatAskFillTheTableNoFurtherThanItGoes) {
    IpoibHost us(1, 4);
    us.take(us.engine.resolve(address(2), 0));
    for (unsigned n = 10; n < 30; ++n) {
        IpoibHost asks(n);
        asks.take(asks.engine.resolve(address(1), 0));
        carry({&us, &asks}, 0);
        EXPECT_TRUE(asks.resolved.contains(address(1)));
    }
    EXPECT_EQ(us.engine.size(), 4u);
    IpoibHost peer(2);
    us.take(us.engine.resolve(address(2), 0));
    us.pass(second);
    carry({&us, &peer}, second);
    EXPECT_TRUE(us.resolved.contains(address(2)));
}

TEST(ResolverOnIpoib, HostsOfOtherNetworksAreAnsweredButNotLearned) {
    IpoibHost us(1);
    us.receive(
        packet_of({request(link_of(7), Gid::of(0xfd99'0000'0000'0000, wire::Guid{7}), address(1)), std::nullopt}), 0);
    EXPECT_EQ(us.sent.size(), 1u);
    EXPECT_EQ(us.engine.size(), 0u);
}

TEST(ResolverOnIpoib, WithoutAnAddressNothingIsSolicited) {
    Resolver engine(link_of(1), {.use = Use::on_demand});
    const auto actions = engine.resolve(address(2), 0);
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<Failed>(actions[0]));
}

}  // namespace
}  // namespace verbline::neighbour
