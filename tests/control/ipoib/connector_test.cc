// SPDX-License-Identifier: BSD-3-Clause
// Two interfaces in connected mode on a cable, each with its connector; the test is their shards and their routers.
#include "control/ipoib/connector.h"

#include <set>

#include <gtest/gtest.h>

#include "datapath/wire/ipoib_connected.h"
#include "pmd/base/clock.h"
#include "tests/support/connected_end.h"

namespace verbline::ipoib {
namespace {

using test::bytes_of, test::ConnectedEnd, test::pattern;

/// An interface with its connector. Neighbours in use are those that were asked for, by the address that was given.
struct Side {
    Side(control::Loop& loop, std::uint16_t lid, std::unique_ptr<pmd::NetDevice> device)
        : end(test::connected_identity(lid), std::move(device)),
          connector(loop, {.connections = end.connections.get(),
                           .wake = [this] { ++woken; },
                           .close =
                               [this](ConnectionNumber number) {
                                   closed_after_lost.push_back(lost.size());
                                   end.connections->close(number);
                               },
                           .wanted = [this](const auto& neighbour) { return wanted && asked.contains(neighbour); },
                           .lost = [this](const auto& neighbour) { lost.push_back(neighbour); },
                           .found = [this](const auto& neighbour) { found.push_back(neighbour); },
                           .trouble = [this](const std::string& line) { troubles.push_back(line); }}) {}

    wire::IpoibAddress address() const {
        return {.flags = flags, .qpn = end.identity.qpn, .gid = end.identity.port.gid};
    }
    wire::PathRecord path_to(const Side& other) const {
        return {.destination_gid = other.end.identity.port.gid,
                .source_gid = end.identity.port.gid,
                .destination_lid = other.end.identity.port.lid,
                .source_lid = end.identity.port.lid,
                .mtu = wire::IbMtu::bytes_2048,
                .lifetime = 10};
    }
    void find(const Side& other) {
        asked.insert(other.address());
        connector.find(other.address(), path_to(other), [this](ConnectionNumber number) { answers.push_back(number); });
    }
    std::uint64_t counter(std::string_view name) const { return test::counter(connector, name); }

    ConnectedEnd end;
    std::uint8_t flags = wire::IpoibAddress::connected_rc;
    bool wanted = true;
    std::set<wire::IpoibAddress> asked;
    std::vector<std::size_t> closed_after_lost;  ///< at each close: how many were lost before
    unsigned woken = 0;
    std::vector<ConnectionNumber> answers;
    std::vector<wire::IpoibAddress> lost, found;
    std::vector<std::string> troubles;
    Connector connector;
};

class ConnectorTest : public testing::Test {
protected:
    template <class Done>
    bool run_until(Done done, Time limit = 20 * second) {
        const auto until = monotonic_now() + limit;
        while (!done() && monotonic_now() < until) {
            loop->run_once(0);
            a.end.poll(monotonic_now()), b.end.poll(monotonic_now());
        }
        return done();
    }
    void run_for(Time time) {
        std::ignore = run_until([] { return false; }, time);
    }
    void connect() {
        a.connector.set_identity(a.end.identity);
        b.connector.set_identity(b.end.identity);
        a.find(b);
        ASSERT_TRUE(run_until([&] { return !a.answers.empty(); }));
        ASSERT_NE(a.answers[0], 0);
    }

    rte_mempool* pool = test::packet_pool();  // starts DPDK
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::array<std::unique_ptr<pmd::NetDevice>, 2> cable = test::cable();
    Side a{*loop, 3, std::move(cable[0])};
    Side b{*loop, 4, std::move(cable[1])};
};

TEST_F(ConnectorTest, ConnectsOneWay) {
    connect();
    EXPECT_GT(a.woken, 0U);
    a.end.send(pattern(30'000), a.end.to(b.end, a.answers[0]));
    ASSERT_TRUE(run_until([&] { return !b.end.arrived.empty(); }));
    EXPECT_EQ(bytes_of(b.end.arrived[0]), pattern(30'000));
    EXPECT_EQ(a.counter("connections_opened"), 1U);
    EXPECT_EQ(b.counter("connections_accepted"), 1U);
    ASSERT_EQ(a.connector.show().size(), 1U);
    const auto row = a.connector.show()[0];
    EXPECT_EQ(row.neighbour, b.address());
    EXPECT_EQ(row.state, "connected");
    EXPECT_EQ(row.mtu, connected_mtu);
    EXPECT_EQ(row.packets, 1U);
    ASSERT_EQ(b.connector.show().size(), 1U);
    EXPECT_FALSE(b.connector.show()[0].outgoing);
    EXPECT_EQ(b.connector.show()[0].neighbour.qpn, a.address().qpn);
    EXPECT_EQ(b.connector.show()[0].neighbour.gid, a.address().gid);
}

TEST_F(ConnectorTest, AnswersAtOnceWhatIsKnown) {
    connect();
    a.find(b);
    ASSERT_EQ(a.answers.size(), 2U);
    EXPECT_EQ(a.answers[1], a.answers[0]);
}

TEST_F(ConnectorTest, ConnectsBothWays) {
    connect();
    b.find(a);
    ASSERT_TRUE(run_until([&] { return !b.answers.empty(); }));
    EXPECT_NE(b.answers[0], 0);
    b.end.send(pattern(7000), b.end.to(a.end, b.answers[0]));
    ASSERT_TRUE(run_until([&] { return !a.end.arrived.empty(); }));
    EXPECT_EQ(a.connector.show().size(), 2U);
}

TEST_F(ConnectorTest, HasNoneWhileTheInterfaceIsDown) {
    a.find(b);
    EXPECT_EQ(a.answers, std::vector<ConnectionNumber>{0});
}

/// The neighbour listens by another name.
TEST_F(ConnectorTest, FallsBackToDatagramsWhenRefusedAndTriesAgain) {
    a.connector.set_identity(a.end.identity);
    auto other = b.end.identity;
    other.qpn = wire::Qpn{0x60};
    b.connector.set_identity(other);
    a.find(b);
    ASSERT_TRUE(run_until([&] { return !a.answers.empty(); }));
    EXPECT_EQ(a.answers[0], 0);
    EXPECT_EQ(a.counter("connections_refused"), 1U);
    EXPECT_EQ(a.connector.show()[0].state, "datagrams");
    a.find(b);
    EXPECT_EQ(a.answers.size(), 2U) << "it is not asked again at once";
    b.connector.set_identity(b.end.identity);
    ASSERT_TRUE(run_until([&] { return !a.found.empty(); })) << "but later";
    EXPECT_EQ(a.found[0], b.address());
    a.find(b);
    EXPECT_NE(a.answers.back(), 0);
}

TEST_F(ConnectorTest, FallsBackToDatagramsWithoutAnAnswer) {
    a.connector.set_identity(a.end.identity);
    a.find(b);
    ASSERT_TRUE(run_until([&] { return !a.answers.empty(); }));
    EXPECT_EQ(a.answers[0], 0);
}

TEST_F(ConnectorTest, HearsThatTheNeighbourLeaves) {
    connect();
    b.connector.retire();
    ASSERT_TRUE(run_until([&] { return !a.lost.empty(); }));
    EXPECT_EQ(a.lost[0], b.address());
    EXPECT_EQ(a.counter("connections_lost"), 1U);
}

TEST_F(ConnectorTest, NoticesThatTheNeighbourHasGone) {
    connect();
    b.connector.set_identity(std::nullopt);  // says nothing
    a.end.send(pattern(100), a.end.to(b.end, a.answers[0]));
    ASSERT_TRUE(run_until([&] { return !a.lost.empty(); }));
    a.answers.clear();
    a.find(b);
    ASSERT_TRUE(run_until([&] { return !a.answers.empty(); }));
    EXPECT_EQ(a.answers[0], 0);
}

TEST_F(ConnectorTest, ClosesWhatNobodyUses) {
    connect();
    a.wanted = false;
    ASSERT_TRUE(run_until([&] { return b.connector.show().empty(); }));
    EXPECT_TRUE(a.connector.show().empty());
    EXPECT_TRUE(a.lost.empty());
    a.wanted = true;
    a.answers.clear();
    a.find(b);
    ASSERT_TRUE(run_until([&] { return !a.answers.empty(); }));
    EXPECT_NE(a.answers[0], 0);
}

/// RFC 4755, 3.1: an interface may have both RC and UC.
TEST_F(ConnectorTest, KeepsTheConnectionOfANeighbourWithBothKinds) {
    b.flags = wire::IpoibAddress::connected_rc | wire::IpoibAddress::connected_uc;
    connect();
    run_for(200 * millisecond);
    ASSERT_EQ(a.connector.show().size(), 1U);
    EXPECT_EQ(a.connector.show()[0].state, "connected");
    EXPECT_TRUE(a.closed_after_lost.empty());
}

/// The subnet manager gives the port another LID.
TEST_F(ConnectorTest, BeginsAnewWithAnotherAddress) {
    connect();
    a.end.identity.port.lid = wire::Lid{7};
    a.end.link->set_port(a.end.identity);
    a.connector.set_identity(a.end.identity);
    EXPECT_TRUE(a.connector.show().empty());
    EXPECT_EQ(a.lost, std::vector{b.address()});
    EXPECT_EQ(a.closed_after_lost, std::vector<std::size_t>{1}) << "or the shard would send to a number of another's";
    a.answers.clear();
    a.find(b);
    ASSERT_TRUE(run_until([&] { return !a.answers.empty(); }));
    ASSERT_NE(a.answers[0], 0);
    EXPECT_EQ(b.connector.show().size(), 1U) << "the one before is replaced";
    a.end.send(pattern(9000), a.end.to(b.end, a.answers[0]));
    EXPECT_TRUE(run_until([&] { return !b.end.arrived.empty(); }));
}

TEST_F(ConnectorTest, DeclinesWhatIsNoRequestOfConnectedMode) {
    a.connector.set_identity(a.end.identity);
    b.connector.set_identity(b.end.identity);
    // By b's own manager, as a program would.
    auto gsi = mad::Gsi::create({.device = &a.end.connections->device()});
    EXPECT_FALSE(gsi) << "QP1 is the connector's";
    a.connector.set_identity(std::nullopt);
    gsi = mad::Gsi::create({.device = &a.end.connections->device()});
    ASSERT_TRUE(gsi);
    auto manager = cm::Manager::create({.ca_guid = wire::Guid{77}}, **gsi);
    const auto arrive = [&] {
        (*gsi)->receive(wire::MadClass::communication, [&](auto burst) { manager->receive(burst, monotonic_now()); });
        (*gsi)->drain();
    };
    const auto path = cm::ConnectionPath{.route = {.address = {.dlid = b.end.identity.port.lid}},
                                         .local_gid = a.end.identity.port.gid,
                                         .remote_gid = b.end.identity.port.gid,
                                         .local_lid = a.end.identity.port.lid,
                                         .remote_lid = b.end.identity.port.lid,
                                         .subnet_local = true};
    const auto service = wire::ipoib_connected_service(b.end.identity.qpn);
    for (const auto& request : {cm::Request{.primary = path, .service = service, .qpn = wire::Qpn{0x300}, .mtu = 4},
                                cm::Request{.primary = path,
                                            .service = service,
                                            .transport = cm::Transport::uc,
                                            .qpn = wire::Qpn{0x301},
                                            .mtu = 4}}) {
        auto endpoint = manager->connect(request, monotonic_now());
        ASSERT_TRUE(endpoint);
        std::optional<cm::EndpointEvent> event;
        ASSERT_TRUE(run_until([&] {
            if (!event) arrive(), event = (*endpoint)->poll(monotonic_now());
            return event.has_value();
        }));
        EXPECT_TRUE(std::holds_alternative<cm::Rejected>(*event));
    }
    EXPECT_EQ(b.counter("connections_declined"), 2U);
    EXPECT_TRUE(b.connector.show().empty());
    manager.reset();
}

}  // namespace
}  // namespace verbline::ipoib
