// SPDX-License-Identifier: BSD-3-Clause
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;
using Kind = link::GidTable::Kind;

constexpr wire::QKey datagram_qkey{0x01234567};

/// Datagram services (SIDR).
struct Datagram : testing::TestWithParam<Kind> {
    Network network{GetParam()};
    Host &client = network.host(0), &server = network.host(1);
    IdNumber asking{}, asked{};

    void listen(PortSpace space = PortSpace::udp, const SocketAddress& address = any4(service_port)) {
        const auto id = server.service->create_id(server.queue, 77, space, QueuePairType::ud);
        ASSERT_TRUE(server.service->bind(id, address, network.now));
        ASSERT_TRUE(server.service->listen(id, 0, network.now));
    }
    void ask(PortSpace space = PortSpace::udp, const SocketAddress& to = ipv4(10, 0, 0, 2, service_port)) {
        asking = client.service->create_id(client.queue, 11, space, QueuePairType::ud);
        ASSERT_TRUE(client.service->resolve_address(asking, std::nullopt, to, second, network.now));
        client.expect(EventKind::address_resolved);
        ASSERT_TRUE(client.service->resolve_route(asking, second, network.now));
        client.expect(EventKind::route_resolved);
        ASSERT_TRUE(client.service->connect(asking, {.private_data = cm::PrivateData(180, std::byte{7})}, network.now));
        network.settle();
    }
};

INSTANTIATE_TEST_SUITE_P(Links, Datagram, testing::Values(Kind::roce, Kind::ib),
                         [](const auto& link) { return link.param == Kind::ib ? "infiniband" : "roce"; });

/// What needs a broadcast group.
struct DatagramOfIpoib : Datagram {};

INSTANTIATE_TEST_SUITE_P(Links, DatagramOfIpoib, testing::Values(Kind::ib), [](const auto&) { return "infiniband"; });

TEST_P(Datagram, AServiceResolvesToItsQueuePair) {
    listen();
    ask();
    const auto request = server.expect(EventKind::connect_request);
    EXPECT_TRUE(request.datagram);
    EXPECT_EQ(request.ud.private_data, cm::PrivateData(180, std::byte{7}));
    EXPECT_EQ(server.service->route(request.id)->destination.gid, gid4(10, 0, 0, 1));
    ASSERT_TRUE(server.service->accept(request.id, 22,
                                       ConnectParameters{.qpn = wire::Qpn{0x222}, .qkey = wire::QKey{5}}, network.now));
    network.settle();
    EXPECT_TRUE(server.quiet()) << "the answer is all";
    const auto event = client.expect(EventKind::established);
    EXPECT_TRUE(event.datagram);
    EXPECT_EQ(event.ud.qpn, wire::Qpn{0x222});
    EXPECT_EQ(event.ud.qkey, datagram_qkey) << "IP users have no say in it";
    EXPECT_EQ(event.ud.private_data.size(), 136u);
    if (GetParam() == Kind::roce) {
        EXPECT_TRUE(event.ud.path.address.global);
        EXPECT_EQ(event.ud.path.address.dgid, gid4(10, 0, 0, 2));
        EXPECT_EQ(event.ud.path.mac, link::mac_of_link_local(server.port().facts().port_gid));
    } else {
        EXPECT_EQ(event.ud.path.address.dlid, wire::Lid{2});
    }
}

TEST_P(DatagramOfIpoib, TheIpoibSpaceHasTheBroadcastGroupsQkey) {
    listen(PortSpace::ipoib);
    ask(PortSpace::ipoib);
    const auto request = server.expect(EventKind::connect_request);
    ASSERT_TRUE(server.service->accept(request.id, 22, ConnectParameters{}, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::established).ud.qkey, wire::QKey{0x0b1b});
    EXPECT_EQ(client.service->init_queue_pair(asking, transport::QueuePairState::init)->qkey, wire::QKey{0x0b1b});
}

TEST_P(DatagramOfIpoib, AQkeyThatIsNotOursIsAnError) {
    server.port().change().broadcast_qkey = wire::QKey{0x0c1c};
    listen(PortSpace::ipoib);
    ask(PortSpace::ipoib);
    ASSERT_TRUE(client.service->init_queue_pair(asking, transport::QueuePairState::init));
    ASSERT_TRUE(
        server.service->accept(server.expect(EventKind::connect_request).id, 22, ConnectParameters{}, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::address_error).status, -EINVAL);
}

TEST_P(Datagram, RefusedByTheUser) {
    listen();
    ask();
    ASSERT_TRUE(server.service->reject(server.expect(EventKind::connect_request).id, {}, {}, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::unreachable).status, 2);
}

TEST_P(Datagram, NobodyListens) {
    ask();
    network.pass(300 * second);
    EXPECT_EQ(client.expect(EventKind::unreachable).status, 1);
}

TEST_P(Datagram, NobodyListensAtThisAddress) {
    listen(PortSpace::udp, any6(service_port));
    listen(PortSpace::tcp);
    server.service->close(server.queue, network.now);
    const auto id = server.service->create_id(server.queue, 77, PortSpace::udp, QueuePairType::ud);
    ASSERT_TRUE(server.service->bind(id, ipv6(0xfd00'0000'0000'0000, 2, service_port), network.now));
    ASSERT_TRUE(server.service->listen(id, 0, network.now));
    ask();
    EXPECT_EQ(client.expect(EventKind::unreachable).status, 1);
    EXPECT_TRUE(server.quiet());
}

TEST_P(Datagram, Unanswered) {
    network.lose = [](unsigned) { return true; };
    ask();
    network.pass(300 * second);
    EXPECT_EQ(client.expect(EventKind::unreachable).status, -ETIMEDOUT);
}

}  // namespace
}  // namespace verbline::rdmacm
