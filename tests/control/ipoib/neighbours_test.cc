// SPDX-License-Identifier: BSD-3-Clause
// Two hosts of a simulated fabric with a real OpenSM; the datagrams between them are carried by the test.
#include "control/ipoib/neighbours.h"

#include <deque>

#include <gtest/gtest.h>

#include "control/mad/open.h"
#include "datapath/link/ip_gid.h"
#include "tests/support/fabric.h"

namespace verbline::ipoib {
namespace {

using wire::ipv4;

class IpoibNeighboursTest : public testing::Test {
protected:
    struct Packet {
        wire::Lid to;
        wire::Qpn qpn;
        std::vector<std::byte> bytes;
    };
    struct Host {
        std::unique_ptr<mad::Transport> transport;
        std::unique_ptr<sa::Agent> agent;
        std::unique_ptr<IpoibNeighbours> neighbours;
        wire::Lid group{};
    };

    Host open(const char* name, wire::Qpn qpn, wire::Ipv4Address address) {
        return open(name, qpn, {{link::gid_of(address), 24}});
    }
    Host open(const char* name, wire::Qpn qpn, std::vector<link::InterfaceAddress> addresses) {
        Host host;
        host.transport = std::move(*mad::open(fabric.spec(name), *loop));
        host.agent = std::make_unique<sa::Agent>(*host.transport, *loop);
        addresses.push_back({ipv6_link_local_of(host.transport->port().gid()), 64});
        return start(std::move(host), qpn, std::move(addresses));
    }
    Host start(Host host, wire::Qpn qpn, std::vector<link::InterfaceAddress> addresses) {
        host.neighbours = std::make_unique<IpoibNeighbours>(
            *loop, *host.agent,
            IpoibNeighbours::Setup{.qpn = qpn,
                                   .addresses = std::move(addresses),
                                   .send =
                                       [this](const wire::AddressHandle& to, wire::Qpn to_qpn, wire::Bytes packet) {
                                           sent.push_back({to.dlid, to_qpn, {packet.begin(), packet.end()}});
                                       },
                                   .on_group = [](const wire::Gid&, const sa::Group&) {}});
        return host;
    }
    /// To whom it may concern.
    void carry(std::initializer_list<Host*> hosts) {
        for (; !sent.empty(); sent.pop_front()) {
            for (auto* host : hosts) {
                const auto& packet = sent.front();
                const bool all = packet.qpn == wire::multicast_qpn;
                if (all || packet.to == host->transport->port().lid) host->neighbours->received(packet.bytes);
            }
        }
    }
    std::optional<Result<wire::Gid>> ask(Host& from, const wire::Gid& address, std::initializer_list<Host*> hosts,
                                         Time limit = 10 * second) {
        std::optional<Result<wire::Gid>> answer;
        from.neighbours->find(1, address, [&](const Result<wire::Gid>& found) { answer = found; });
        for (const Time end = loop->now() + limit; !answer && loop->now() < end;) {
            loop->run_once(5 * millisecond);
            carry(hosts);
        }
        from.neighbours->cancel(1);
        return answer;
    }

    static std::map<std::string, std::uint64_t> counters(const Host& host) {
        std::map<std::string, std::uint64_t> all;
        host.neighbours->counters([&](auto name, auto value, auto) { all[std::string(name)] = value; });
        return all;
    }

    test::Fabric fabric{test::star(3)};
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::deque<Packet> sent;
};

TEST_F(IpoibNeighboursTest, FindsTheGidBehindAnAddress) {
    auto us = open("H2", wire::Qpn{0x48}, ipv4(10, 2, 0, 1)), peer = open("H3", wire::Qpn{0x77}, ipv4(10, 2, 0, 2));
    const auto found = ask(us, link::gid_of(ipv4(10, 2, 0, 2)), {&us, &peer});
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(**found, peer.transport->port().gid());
    EXPECT_EQ(us.neighbours->broadcast_group()->qkey, wire::QKey{0xb1b});
}

TEST_F(IpoibNeighboursTest, KnowsItself) {
    auto us = open("H2", wire::Qpn{0x48}, ipv4(10, 2, 0, 1));
    const auto found = ask(us, link::gid_of(ipv4(10, 2, 0, 1)), {&us});
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(**found, us.transport->port().gid());
}

TEST_F(IpoibNeighboursTest, LookupWithoutAnswerIsUnreachable) {
    auto us = open("H2", wire::Qpn{0x48}, ipv4(10, 2, 0, 1));
    const auto found = ask(us, link::gid_of(ipv4(10, 2, 0, 9)), {&us});
    ASSERT_TRUE(found);
    ASSERT_FALSE(*found);
    EXPECT_EQ(found->error().code, EHOSTUNREACH);
}

constexpr auto ours6 = wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{1});
constexpr auto peers6 = wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{0x12'3456});

TEST_F(IpoibNeighboursTest, FindsTheGidBehindAnAddressOfIpv6) {
    auto us = open("H2", wire::Qpn{0x48}, {{ours6, 64}}), peer = open("H3", wire::Qpn{0x77}, {{peers6, 64}});
    const auto port = peer.transport->port().gid();
    for (const auto& address : {peers6, ipv6_link_local_of(port)}) {
        const auto found = ask(us, address, {&us, &peer});
        ASSERT_TRUE(found && *found);
        EXPECT_EQ(**found, port);
    }
    for (const auto& joined : us.agent->groups().show()) {
        EXPECT_NE(joined.wanted, wire::join_state::send_only_non_member)
            << "who has been told need not ask in the group any more";
    }
}

// Nobody is in its group, so that there is none: who has the address hears of it in the broadcast group.
TEST_F(IpoibNeighboursTest, AsksInTheBroadcastGroupIfTheOwnersDoesNotExist) {
    auto us = open("H2", wire::Qpn{0x48}, {{ours6, 64}});
    const auto found = ask(us, peers6, {&us});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->error().code, EHOSTUNREACH);
    EXPECT_GE(counters(us)["ipoib_tx_broadcast_instead"], 1u);
}

TEST_F(IpoibNeighboursTest, CancelledLookupGetsNoResult) {
    auto us = open("H2", wire::Qpn{0x48}, ipv4(10, 2, 0, 1)), peer = open("H3", wire::Qpn{0x77}, ipv4(10, 2, 0, 2));
    us.neighbours->find(7, link::gid_of(ipv4(10, 2, 0, 2)), [](const auto&) { FAIL(); });
    us.neighbours->cancel(7);
    EXPECT_TRUE(ask(us, link::gid_of(ipv4(10, 2, 0, 2)), {&us, &peer}));
}

TEST_F(IpoibNeighboursTest, DropsShortFramesAndUnknownTypes) {
    auto us = open("H2", wire::Qpn{0x48}, ipv4(10, 2, 0, 1));
    us.neighbours->received({});
    us.neighbours->received(std::array<std::byte, 24>{std::byte{8}});
    EXPECT_EQ(counters(us)["ipoib_rx_dropped_short"], 1u);
    EXPECT_EQ(counters(us)["ipoib_rx_dropped_type"], 1u);
}

}  // namespace
}  // namespace verbline::ipoib
