// SPDX-License-Identifier: BSD-3-Clause
#include <random>
#include <string_view>

#include "tests/control/rdmacm/two_hosts.h"
#include "tests/support/counter.h"

namespace verbline::rdmacm {
namespace {

using namespace test;
using Kind = link::GidTable::Kind;

cm::PrivateData text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}
bool begins_with(const cm::PrivateData& data, std::string_view expected) {
    return data.size() >= expected.size() && std::ranges::equal(text(expected), std::span(data).first(expected.size()));
}

/// A server on the second host, a client on the first.
struct Connect : testing::TestWithParam<Kind> {
    Network network{GetParam()};
    Host &client = network.host(0), &server = network.host(1);
    IdNumber listener{}, active{}, passive{};

    void listen(SocketAddress address = any4(service_port), QueuePairType type = QueuePairType::rc, int backlog = 0) {
        listener = server.service->create_id(server.queue, 77, PortSpace::tcp, type);
        ASSERT_TRUE(server.service->bind(listener, address, network.now));
        ASSERT_TRUE(server.service->listen(listener, backlog, network.now));
    }
    IdNumber resolve(SocketAddress to = ipv4(10, 0, 0, 2, service_port), QueuePairType type = QueuePairType::rc) {
        const auto id = client.service->create_id(client.queue, 11, PortSpace::tcp, type);
        EXPECT_TRUE(client.service->resolve_address(id, std::nullopt, to, second, network.now));
        EXPECT_EQ(client.expect(EventKind::address_resolved).id, id);
        EXPECT_TRUE(client.service->resolve_route(id, second, network.now));
        EXPECT_EQ(client.expect(EventKind::route_resolved).user, 11u);
        return id;
    }
    CmEvent request(const ConnectParameters& parameters = {.qpn = wire::Qpn{0x111}}) {
        EXPECT_TRUE(client.service->connect(active, parameters, network.now));
        network.settle();
        return server.expect(EventKind::connect_request);
    }
    void establish() {
        listen();
        active = resolve();
        passive = request().id;
        ASSERT_TRUE(server.service->accept(passive, 22, ConnectParameters{.qpn = wire::Qpn{0x222}}, network.now));
        network.settle();
        EXPECT_EQ(client.expect(EventKind::connect_response).connect.qpn, wire::Qpn{0x222});
        ASSERT_TRUE(client.service->accept(active, 0, std::nullopt, network.now));
        network.settle();
        const auto established = server.expect(EventKind::established);
        EXPECT_EQ(established.id, passive);
        EXPECT_EQ(established.user, 22u);
        EXPECT_TRUE(client.quiet()) << "the library makes the active side's event itself";
    }
};

INSTANTIATE_TEST_SUITE_P(Links, Connect, testing::Values(Kind::roce, Kind::ib),
                         [](const auto& link) { return link.param == Kind::ib ? "infiniband" : "roce"; });

TEST_P(Connect, RequestCarriesWhatTheActiveSideSaid) {
    listen();
    active = resolve();
    const auto event = request({.qpn = wire::Qpn{0x111},
                                .shared_receive_queue = true,
                                .responder_resources = 5,
                                .initiator_depth = 3,
                                .flow_control = true,
                                .retry_count = 6,
                                .rnr_retry_count = 9,
                                .private_data = text("hello")});
    EXPECT_EQ(event.listener, listener);
    EXPECT_EQ(event.user, 77u) << "of the listener: the new id has none yet";
    EXPECT_FALSE(event.datagram);
    EXPECT_EQ(event.connect.qpn, wire::Qpn{0x111});
    EXPECT_EQ(event.connect.responder_resources, 3) << "what they begin is what we answer";
    EXPECT_EQ(event.connect.initiator_depth, 5);
    EXPECT_EQ(event.connect.retry_count, 6);
    EXPECT_EQ(event.connect.rnr_retry_count, 7) << "three bits";
    EXPECT_TRUE(event.connect.flow_control);
    EXPECT_TRUE(event.connect.shared_receive_queue);
    EXPECT_EQ(event.connect.private_data.size(), 56u);
    EXPECT_TRUE(begins_with(event.connect.private_data, "hello"));

    const auto route = server.service->route(event.id).value();
    EXPECT_EQ(route.source, ipv4(10, 0, 0, 2, service_port));
    EXPECT_EQ(route.destination.gid, gid4(10, 0, 0, 1));
    EXPECT_EQ(route.destination.port, client.service->route(active)->source.port);
    EXPECT_EQ(route.port, &server.port());
    ASSERT_EQ(route.paths.size(), 1u);
    EXPECT_EQ(route.paths[0].destination_gid, client.service->route(active)->source_gid);
}

TEST_P(Connect, EstablishedThenDisconnectedOnBothSides) {
    establish();
    ASSERT_TRUE(client.service->disconnect(active, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::disconnected).status, 0);
    EXPECT_EQ(server.expect(EventKind::disconnected).user, 22u);
    EXPECT_TRUE(server.service->disconnect(passive, network.now)) << "programs answer so";
    network.pass(60 * second);
    client.expect(EventKind::timewait_exit);
    server.expect(EventKind::timewait_exit);
    EXPECT_TRUE(client.quiet() && server.quiet());
    // connect_request was counted with the listener.
    EXPECT_EQ(client.service->destroy_id(active, network.now).value(), 5u);
    EXPECT_EQ(server.service->destroy_id(passive, network.now).value(), 3u);
    EXPECT_EQ(server.service->destroy_id(listener, network.now).value(), 1u);
    network.pass(60 * second);
    EXPECT_EQ(client.port().manager().size(), 0u);
    EXPECT_EQ(server.port().manager().size(), 0u);
    EXPECT_TRUE(client.port().reserved.empty() && server.port().reserved.empty());
}

TEST_P(Connect, BothDisconnectAtOnce) {
    establish();
    ASSERT_TRUE(client.service->disconnect(active, network.now));
    ASSERT_TRUE(server.service->disconnect(passive, network.now));
    network.settle();
    client.expect(EventKind::disconnected);
    server.expect(EventKind::disconnected);
    EXPECT_TRUE(client.quiet() && server.quiet());
}

TEST_P(Connect, DestroyingDisconnectsThePeer) {
    establish();
    ASSERT_TRUE(client.service->destroy_id(active, network.now));
    network.settle();
    server.expect(EventKind::disconnected);
}

TEST_P(Connect, RejectedWithReasonAndPrivateData) {
    listen();
    active = resolve();
    passive = request().id;
    ASSERT_TRUE(server.service->reject(passive, text("no"), {}, network.now));
    network.settle();
    const auto event = client.expect(EventKind::rejected);
    EXPECT_EQ(event.status, 28);
    EXPECT_EQ(event.connect.private_data.size(), 148u);
    EXPECT_TRUE(begins_with(event.connect.private_data, "no"));
    EXPECT_TRUE(server.quiet());
}

TEST_P(Connect, NobodyListens) {
    active = resolve();
    ASSERT_TRUE(client.service->connect(active, {}, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::rejected).status, 8);
}

TEST_P(Connect, BetweenBindAndListenTheRequestWaits) {
    listener = server.service->create_id(server.queue, 77, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(server.service->bind(listener, any4(service_port), network.now));
    active = resolve();
    ASSERT_TRUE(client.service->connect(active, {}, network.now));
    network.settle();
    EXPECT_TRUE(client.quiet() && server.quiet());
    ASSERT_TRUE(server.service->listen(listener, 0, network.now));
    network.settle();
    EXPECT_EQ(server.expect(EventKind::connect_request).user, 77u);
}

TEST_P(Connect, NeitherAnIdThatConnectsNorOneOfAnotherPortWaitsForRequests) {
    const auto bound = [&](const SocketAddress& address) {
        const auto id = server.service->create_id(server.queue, 0, PortSpace::tcp, QueuePairType::rc);
        EXPECT_TRUE(server.service->bind(id, address, network.now));
        return id;
    };
    const auto is_bound = [&](std::uint16_t number) {
        return server.service->bound(server.port(), service_id(PortSpace::tcp, number));
    };
    const auto connects = bound(ipv4(10, 0, 0, 2, 5000));
    EXPECT_TRUE(is_bound(5000));
    EXPECT_FALSE(is_bound(5001));
    EXPECT_FALSE(server.service->bound(client.port(), service_id(PortSpace::tcp, 5000)));
    ASSERT_TRUE(
        server.service->resolve_address(connects, std::nullopt, ipv4(10, 0, 0, 1, service_port), second, network.now));
    EXPECT_FALSE(is_bound(5000));
}

TEST_P(Connect, UnansweredIsUnreachable) {
    active = resolve();
    network.lose = [](unsigned) { return true; };
    ASSERT_TRUE(client.service->connect(active, {}, network.now));
    network.pass(300 * second);
    EXPECT_EQ(client.expect(EventKind::unreachable).status, -ETIMEDOUT);
    EXPECT_TRUE(client.quiet());
}

TEST_P(Connect, AcceptedButTheActiveSideIsSilent) {
    listen();
    active = resolve();
    passive = request().id;
    network.lose = [](unsigned from) { return from == 0; };
    ASSERT_TRUE(server.service->accept(passive, 22, ConnectParameters{}, network.now));
    network.pass(300 * second);
    EXPECT_EQ(server.expect(EventKind::unreachable).status, -ETIMEDOUT);
}

TEST_P(Connect, LostMessagesAreSentAgain) {
    std::mt19937 random(5);
    network.lose = [&](unsigned) { return random() % 2 == 0; };
    listen();
    active = resolve();
    ASSERT_TRUE(client.service->connect(active, {}, network.now));
    network.pass(20 * second);
    passive = server.expect(EventKind::connect_request).id;
    ASSERT_TRUE(server.service->accept(passive, 22, ConnectParameters{}, network.now));
    network.pass(20 * second);
    client.expect(EventKind::connect_response);
    ASSERT_TRUE(client.service->accept(active, 0, std::nullopt, network.now));
    network.pass(60 * second);
    server.expect(EventKind::established);
    EXPECT_TRUE(client.quiet() && server.quiet());
}

TEST_P(Connect, AMessageMayComeBeforeItIsEstablished) {
    listen();
    active = resolve();
    passive = request().id;
    ASSERT_TRUE(server.service->accept(passive, 22, ConnectParameters{}, network.now));
    ASSERT_TRUE(server.service->notify_established(passive, network.now));
    server.expect(EventKind::established);
    EXPECT_EQ(server.service->notify_established(passive, network.now).error().code, EISCONN);
    network.settle();
    client.expect(EventKind::connect_response);
    ASSERT_TRUE(client.service->accept(active, 0, std::nullopt, network.now));
    network.settle();
    EXPECT_TRUE(server.quiet()) << "told once";
}

TEST_P(Connect, OverIpv6) {
    listen(any6(service_port));
    active = resolve(ipv6(0xfd00'0000'0000'0000, 2, service_port));
    const auto event = request();
    const auto route = server.service->route(event.id).value();
    EXPECT_EQ(route.source, ipv6(0xfd00'0000'0000'0000, 2, service_port));
    EXPECT_EQ(route.destination.gid, ipv6(0xfd00'0000'0000'0000, 1).gid);
}

TEST_P(Connect, AnyAddressOfIpv6TakesIpv4Too) {
    listen(any6(service_port));
    active = resolve();
    EXPECT_EQ(server.service->route(request().id)->source, ipv4(10, 0, 0, 2, service_port));
}

TEST_P(Connect, Ipv6OnlyListenerRejectsIpv4) {
    listener = server.service->create_id(server.queue, 77, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(server.service->set_option(listener, Service::Option::address_family_only, 1));
    ASSERT_TRUE(server.service->bind(listener, any6(service_port), network.now));
    ASSERT_TRUE(server.service->listen(listener, 0, network.now));
    active = resolve();
    ASSERT_TRUE(client.service->connect(active, {}, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::rejected).status, 8);
}

TEST_P(Connect, Loopback) {
    listener = client.service->create_id(client.queue, 77, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(client.service->bind(listener, any4(service_port), network.now));
    ASSERT_TRUE(client.service->listen(listener, 0, network.now));
    active = resolve(ipv4(10, 0, 0, 1, service_port));
    ASSERT_TRUE(client.service->connect(active, {.qpn = wire::Qpn{0x111}}, network.now));
    network.settle();
    passive = client.expect(EventKind::connect_request).id;
    ASSERT_TRUE(client.service->accept(passive, 22, ConnectParameters{.qpn = wire::Qpn{0x222}}, network.now));
    network.settle();
    client.expect(EventKind::connect_response);
    ASSERT_TRUE(client.service->accept(active, 0, std::nullopt, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::established).id, passive);
}

TEST_P(Connect, AnotherKindOfQueuePairIsRejected) {
    listen(any4(service_port), QueuePairType::uc);
    active = resolve();
    ASSERT_TRUE(client.service->connect(active, {}, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::rejected).status, 9);
}

TEST_P(Connect, XrcInitiatorMeetsTarget) {
    listen(any4(service_port), QueuePairType::xrc_target);
    active = resolve(ipv4(10, 0, 0, 2, service_port), QueuePairType::xrc_initiator);
    passive = request().id;
    ASSERT_TRUE(server.service->accept(passive, 22, ConnectParameters{.qpn = wire::Qpn{0x333}}, network.now));
    network.settle();
    EXPECT_EQ(client.expect(EventKind::connect_response).connect.qpn, wire::Qpn{0x333});
    EXPECT_EQ(client.service->init_queue_pair(active, transport::QueuePairState::rtr)->destination, wire::Qpn{0x333});
}

TEST_P(Connect, PrivateDataMustFit) {
    listen();
    active = resolve();
    EXPECT_EQ(client.service->connect(active, {.private_data = cm::PrivateData(57)}, network.now).error().code, EINVAL);
    EXPECT_TRUE(client.service->connect(active, {.private_data = cm::PrivateData(56)}, network.now))
        << "may be tried again";
}

TEST_P(Connect, CallsOutOfTurnAreRefused) {
    const auto id = client.service->create_id(client.queue, 11, PortSpace::tcp, QueuePairType::rc);
    auto& service = *client.service;
    EXPECT_EQ(service.resolve_route(id, second, 0).error().code, EINVAL);
    EXPECT_EQ(service.connect(id, {}, 0).error().code, EINVAL);
    EXPECT_EQ(service.accept(id, 1, ConnectParameters{}, 0).error().code, EINVAL);
    EXPECT_EQ(service.reject(id, {}, {}, 0).error().code, EINVAL);
    EXPECT_EQ(service.disconnect(id, 0).error().code, EINVAL);
    EXPECT_EQ(service.notify_established(id, 0).error().code, EINVAL);
    EXPECT_EQ(service.connect(IdNumber{4711}, {}, 0).error().code, ENOENT);
}

/// 1024 may wait; of one port as many as are still free.
TEST(Backlog, OnePortCannotKeepOthersFromWaiting) {
    Network network(link::GidTable::Kind::roce, 3);
    Host& server = network.host(1);
    const auto listener = server.service->create_id(server.queue, 77, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(server.service->bind(listener, any4(service_port), network.now));
    ASSERT_TRUE(server.service->listen(listener, 1, network.now));
    const auto ask = [&](unsigned from, unsigned number) {
        Host& host = network.host(from);
        const auto id = host.service->create_id(host.queue, 11, PortSpace::tcp, QueuePairType::rc);
        EXPECT_TRUE(
            host.service->resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, service_port), second, network.now));
        host.expect(EventKind::address_resolved);
        EXPECT_TRUE(host.service->resolve_route(id, second, network.now));
        host.expect(EventKind::route_resolved);
        EXPECT_TRUE(host.service->connect(id, {.qpn = wire::Qpn{0x111 + number}}, network.now));
        network.settle();
        return host.quiet();
    };
    constexpr unsigned event = 1, share = 512;
    for (unsigned i = 0; i < event + share; ++i) ASSERT_TRUE(ask(0, i)) << i;
    EXPECT_FALSE(ask(0, event + share)) << "refused";
    EXPECT_EQ(network.host(0).expect(EventKind::rejected).status, static_cast<int>(wire::CmRejectReason::no_resources));
    EXPECT_EQ(verbline::test::counter(*server.service, "rx_requests_backlog_full"), 1u);
    EXPECT_TRUE(ask(2, 0)) << "another port's request waits";
    EXPECT_EQ(verbline::test::counter(*server.service, "rx_requests_waiting"), share + 1u);
}

}  // namespace
}  // namespace verbline::rdmacm
