// SPDX-License-Identifier: BSD-3-Clause
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;

struct Events : testing::Test {
    Network network{link::GidTable::Kind::roce, 3};
    Host &client = network.host(0), &server = network.host(1);

    IdNumber listen(int backlog = 0) {
        const auto id = server.service->create_id(server.queue, 77, PortSpace::tcp, QueuePairType::rc);
        EXPECT_TRUE(server.service->bind(id, any4(service_port), network.now));
        EXPECT_TRUE(server.service->listen(id, backlog, network.now));
        return id;
    }
    IdNumber connect(unsigned qpn = 0x111) {
        const auto id = client.service->create_id(client.queue, 11, PortSpace::tcp, QueuePairType::rc);
        EXPECT_TRUE(
            client.service->resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, service_port), second, network.now));
        client.expect(EventKind::address_resolved);
        EXPECT_TRUE(client.service->resolve_route(id, second, network.now));
        client.expect(EventKind::route_resolved);
        EXPECT_TRUE(client.service->connect(id, {.qpn = wire::Qpn{qpn}}, network.now));
        network.settle();
        return id;
    }
};

TEST_F(Events, RequestsBeyondTheBacklogWaitUntilOthersAreTaken) {
    listen(2);
    for (unsigned i = 0; i < 5; ++i) connect(0x100 + i);
    EXPECT_EQ(server.queue.events.size(), 2u);
    for (unsigned i = 0; i < 5; ++i)
        EXPECT_EQ(server.expect(EventKind::connect_request).connect.qpn, wire::Qpn{0x100 + i});
    EXPECT_TRUE(server.quiet() && client.quiet()) << "nobody was turned away";
}

TEST_F(Events, DestroyedListenerRejectsPendingRequests) {
    const auto listener = listen(1);
    for (unsigned i = 0; i < 3; ++i) connect(0x100 + i);
    EXPECT_EQ(server.service->destroy_id(listener, network.now).value(), 0u) << "told of none";
    network.settle();
    for (unsigned i = 0; i < 3; ++i) client.expect(EventKind::rejected);
    EXPECT_TRUE(server.quiet() && client.quiet());
}

TEST_F(Events, OfAListenerChildAreNotReportedBeforeItIsAccepted) {
    listen();
    const auto active = connect();
    ASSERT_TRUE(client.service->destroy_id(active, network.now));
    network.settle();
    const auto child = server.expect(EventKind::connect_request).id;
    EXPECT_TRUE(server.quiet()) << "though the peer has given up";
    EXPECT_FALSE(server.service->accept(child, 22, ConnectParameters{}, network.now));
    EXPECT_EQ(server.service->destroy_id(child, network.now).value(), 0u);
}

TEST_F(Events, MoveWithTheirId) {
    const auto listener = listen();
    connect();
    EventQueue other;
    unsigned signals = 0;
    other.on_event = [&] { ++signals; };
    EXPECT_EQ(server.service->migrate(listener, other).value(), 0u);
    EXPECT_TRUE(server.quiet());
    EXPECT_EQ(signals, 1u);
    const auto request = server.service->take_event(other);
    ASSERT_TRUE(request);
    ASSERT_TRUE(server.service->accept(request->id, 22, ConnectParameters{}, network.now));
    network.settle();
    const auto active = client.expect(EventKind::connect_response).id;
    ASSERT_TRUE(client.service->accept(active, 0, std::nullopt, network.now));
    network.settle();
    EXPECT_EQ(server.service->take_event(other)->kind, EventKind::established) << "the child went along";
    EXPECT_EQ(server.service->migrate(listener, server.queue).value(), 1u);
    EXPECT_EQ(server.service->migrate(request->id, server.queue).value(), 1u);
    server.service->close(other, network.now);
}

TEST_F(Events, AClosedQueueTakesItsIdsWithIt) {
    listen();
    const auto active = connect();
    server.service->close(server.queue, network.now);
    EXPECT_TRUE(server.quiet());
    EXPECT_TRUE(server.service->show().empty());
    EXPECT_TRUE(server.port().reserved.empty());
    network.settle();
    EXPECT_EQ(client.expect(EventKind::rejected).id, active);
    network.pass(60 * second);
    EXPECT_EQ(server.port().manager().size(), 0u);
}

TEST_F(Events, OfARemovedPort) {
    const auto listener = listen();
    const auto active = connect();
    const auto child = server.expect(EventKind::connect_request).id;
    ASSERT_TRUE(server.service->accept(child, 22, ConnectParameters{}, network.now));
    server.service->port_changed(server.port(), true, network.now);
    EXPECT_EQ(server.expect(EventKind::device_removal).id, child);
    EXPECT_TRUE(server.quiet()) << "the listener has any address";
    EXPECT_EQ(server.service->disconnect(child, network.now).error().code, EINVAL);
    EXPECT_TRUE(server.service->destroy_id(child, network.now));
    EXPECT_TRUE(server.service->destroy_id(listener, network.now));
    client.service->port_changed(client.port(), true, network.now);
    EXPECT_EQ(client.queue.events.back().kind, EventKind::device_removal);
    EXPECT_EQ(client.queue.events.back().id, active);
    const auto late = client.service->create_id(client.queue, 1, PortSpace::tcp, QueuePairType::rc);
    EXPECT_EQ(client.service->bind(late, any4(), network.now).error().code, ENODEV);
}

TEST_F(Events, AListenerOnAnyAddressListensOnAPortThatReturns) {
    listen();
    server.service->port_changed(server.port(), true, network.now);
    const auto early = connect();
    EXPECT_EQ(client.expect(EventKind::rejected).id, early);
    server.service->port_changed(server.port(), false, network.now);
    connect();
    server.expect(EventKind::connect_request);
    server.service->port_changed(server.port(), false, network.now);
    EXPECT_TRUE(server.quiet()) << "it returns once";
}

TEST_F(Events, OfARemovedAddress) {
    const auto active = connect();
    client.expect(EventKind::rejected);
    client.service->port_changed(client.port(), false, network.now);
    EXPECT_TRUE(client.quiet()) << "nothing of ours has changed";
    client.port().change().addresses = {{gid4(10, 0, 0, 77), 24}};
    client.service->port_changed(client.port(), false, network.now);
    EXPECT_EQ(client.expect(EventKind::address_change).id, active);
    EXPECT_TRUE(client.quiet());
}

TEST_F(Events, OfAnotherLidOnce) {
    const auto active = connect();
    client.expect(EventKind::rejected);
    client.port().change().lid = wire::Lid{9};
    client.service->port_changed(client.port(), false, network.now);
    EXPECT_EQ(client.expect(EventKind::address_change).id, active);
    client.service->port_changed(client.port(), false, network.now);
    EXPECT_TRUE(client.quiet()) << "that is known";
}

TEST(EventsOnInfiniBand, OfAnotherGidOnceAndWhoListensIsReachedByIt) {
    Network network(link::GidTable::Kind::ib);
    Host &client = network.host(0), &server = network.host(1);
    const auto listener = server.service->create_id(server.queue, 77, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(server.service->bind(listener, ipv4(10, 0, 0, 2, service_port), network.now));
    ASSERT_TRUE(server.service->listen(listener, 0, network.now));
    for (auto* const host : {&client, &server}) {
        auto& gid = host->port().change().port_gid;
        gid = wire::Gid::of(0xfec0'0000'0000'0007, wire::Guid{gid.interface_id()});
    }
    for (int turn = 0; turn < 2; ++turn) server.service->port_changed(server.port(), false, network.now);
    EXPECT_EQ(server.expect(EventKind::address_change).id, listener);
    EXPECT_TRUE(server.quiet()) << "that is known";
    EXPECT_EQ(server.service->route(listener)->source_gid, server.port().facts().port_gid);

    const auto active = client.service->create_id(client.queue, 11, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(
        client.service->resolve_address(active, std::nullopt, ipv4(10, 0, 0, 2, service_port), second, network.now));
    client.expect(EventKind::address_resolved);
    ASSERT_TRUE(client.service->resolve_route(active, second, network.now));
    client.expect(EventKind::route_resolved);
    ASSERT_TRUE(client.service->connect(active, {.qpn = wire::Qpn{5}}, network.now));
    network.settle();
    EXPECT_EQ(server.expect(EventKind::connect_request).listener, listener);
}

TEST_F(Events, HostileRequestsAreRejectedAndCounted) {
    listen();
    const auto request = [&](cm::PrivateData data) {
        cm::ConnectionPath path;
        path.route = {.gid_index = 3, .address = {.global = true, .dgid = gid4(10, 0, 0, 2)}};
        path.local_gid = gid4(10, 0, 0, 1);
        path.remote_gid = gid4(10, 0, 0, 2);
        static std::uint32_t qpn = 1;
        const cm::Request req{.primary = path,
                              .service = service_id(PortSpace::tcp, service_port),
                              .qpn = wire::Qpn{++qpn},
                              .private_data = std::move(data)};
        const auto endpoint = client.port().manager().connect(req, network.now).value();
        network.settle();
        const auto event = endpoint->poll(network.now);
        ASSERT_TRUE(event && std::holds_alternative<cm::Rejected>(*event));
    };
    cm::PrivateData data(92);
    request(data);  // IP version 0
    data[1] = std::byte{0x70};
    request(data);
    data[0] = std::byte{0xff};
    request(data);
    EXPECT_TRUE(server.quiet());
    std::map<std::string_view, std::uint64_t> counted;
    server.service->counters([&](auto name, auto value, auto) { counted[name] = value; });
    EXPECT_EQ(counted["rx_requests"], 3u);
    EXPECT_EQ(counted["rx_requests_no_listener"] + counted["rx_requests_malformed"], 3u);
}

TEST_F(Events, ManyIdsAreNoBurden) {
    listen(1024);
    constexpr unsigned count = 5'000;
    for (unsigned i = 0; i < count; ++i) {
        const auto active = connect(0x1000 + i);
        const auto child = server.expect(EventKind::connect_request).id;
        ASSERT_TRUE(server.service->accept(child, 22, ConnectParameters{.qpn = wire::Qpn{0x100'000 + i}}, network.now));
        network.settle();
        client.expect(EventKind::connect_response);
        ASSERT_TRUE(client.service->accept(active, 0, std::nullopt, network.now));
        network.settle();
        server.expect(EventKind::established);
    }
    EXPECT_EQ(server.service->show().size(), count + 1);
    EXPECT_STREQ(server.service->show().front().state, "LISTEN");
    EXPECT_STREQ(server.service->show().back().state, "CONNECT");
    server.service->close(server.queue, network.now);
    network.settle();
    for (unsigned i = 0; i < count; ++i) client.expect(EventKind::disconnected);
}

}  // namespace
}  // namespace verbline::rdmacm
