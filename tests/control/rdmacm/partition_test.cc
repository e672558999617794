// SPDX-License-Identifier: BSD-3-Clause
// Partitions of an InfiniBand port: addresses of AF_IB name one, IP addresses are in one.
#include <cerrno>

#include "control/rdmacm/source.h"
#include "datapath/wire/ipoib.h"
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;
using transport::QueuePairState;

constexpr wire::PKey everywhere{0xffff}, blue{0x8001}, limited_blue{0x0001}, red{0x8002};

struct Partition : testing::Test {
    Network network{link::GidTable::Kind::ib};
    Host &client = network.host(0), &server = network.host(1);

    Partition() {
        client.port().change().pkeys = {everywhere, wire::PKey{}, blue};
        server.port().change().pkeys = {everywhere, blue};
    }
    static SocketAddress ib(const wire::Gid& gid, wire::PKey pkey, PortSpace space = PortSpace::ib) {
        return {.family = Family::ib,
                .gid = gid,
                .service_id = std::to_underlying(service_id(space, service_port)),
                .service_mask = ~std::uint64_t{0},
                .pkey = pkey};
    }
    IdNumber create(Host& host, PortSpace space = PortSpace::ib) {
        return host.service->create_id(host.queue, 11, space,
                                       space == PortSpace::udp ? QueuePairType::ud : QueuePairType::rc);
    }
    Result<void> resolve(IdNumber id, wire::PKey pkey) {
        return client.service->resolve_address(id, std::nullopt, ib(server.port().facts().port_gid, pkey), second,
                                               network.now);
    }
    static std::optional<std::uint16_t> index(Host& host, IdNumber id) {
        const auto attributes = host.service->init_queue_pair(id, QueuePairState::init);
        return attributes ? std::optional(attributes->pkey_index) : std::nullopt;
    }
};

TEST_F(Partition, ConnectionsAreInTheOneThatIsNamed) {
    const auto listener = create(server);
    ASSERT_TRUE(server.service->bind(listener, ib(server.port().facts().port_gid, blue), network.now));
    ASSERT_TRUE(server.service->listen(listener, 0, network.now));
    const auto id = create(client);
    ASSERT_TRUE(resolve(id, blue));
    client.expect(EventKind::address_resolved);
    EXPECT_EQ(client.service->route(id)->source.pkey, blue) << "as in Linux, the destination's";
    ASSERT_TRUE(client.service->resolve_route(id, second, network.now));
    client.expect(EventKind::route_resolved);
    EXPECT_EQ(client.service->route(id)->paths.at(0).pkey, blue);
    ASSERT_TRUE(client.service->connect(id, {.qpn = wire::Qpn{0x111}}, network.now));
    network.settle();
    const auto child = server.expect(EventKind::connect_request).id;
    EXPECT_EQ(index(client, id), 2);
    EXPECT_EQ(index(server, child), 1);
    client.port().change().pkeys = {everywhere};
    EXPECT_EQ(client.service->init_queue_pair(id, QueuePairState::init).error().code, ENOENT) << "taken away";
}

TEST_F(Partition, WithoutThePKeyThereIsNoWay) {
    EXPECT_EQ(resolve(create(client), red).error().code, ENODEV);
    const auto id = create(client);
    EXPECT_EQ(client.service->bind(id, ib(client.port().facts().port_gid, red), network.now).error().code, ENODEV);
    EXPECT_TRUE(resolve(id, blue)) << "the id is as it was";
}

TEST_F(Partition, IpAddressesAreInIpoibs) {
    const auto id = create(client, PortSpace::tcp);
    ASSERT_TRUE(client.service->bind(id, ipv4(10, 0, 0, 1), network.now));
    EXPECT_EQ(index(client, id), 0);
    EXPECT_EQ(client.service->route(id)->pkey, everywhere);
}

struct IpPartition : Partition {
    IpPartition() {
        for (auto* const host : {&client, &server}) {
            const unsigned number = host == &client ? 1 : 2;
            host->port().change().addresses.push_back({gid4(10, 8, 0, number), 24, blue});
            host->port().change().broadcast_group = wire::ipoib_broadcast_mgid(everywhere);
        }
    }
    IdNumber listen(const SocketAddress& address) {
        const auto listener = create(server, PortSpace::tcp);
        EXPECT_TRUE(server.service->bind(listener, address, network.now));
        EXPECT_TRUE(server.service->listen(listener, 0, network.now));
        return listener;
    }
    IdNumber connect(const SocketAddress& to, unsigned qpn = 0x111) {
        const auto id = create(client, PortSpace::tcp);
        EXPECT_TRUE(client.service->resolve_address(id, std::nullopt, to, second, network.now));
        client.expect(EventKind::address_resolved);
        EXPECT_TRUE(client.service->resolve_route(id, second, network.now));
        client.expect(EventKind::route_resolved);
        EXPECT_TRUE(client.service->connect(id, {.qpn = wire::Qpn{qpn}}, network.now));
        network.settle();
        return id;
    }
};

TEST_F(IpPartition, ConnectionsAreInThatOfTheAddressTheyComeFrom) {
    listen(ipv4(10, 8, 0, 2, service_port));
    const auto id = connect(ipv4(10, 8, 0, 2, service_port));
    EXPECT_EQ(client.service->route(id)->source.gid, gid4(10, 8, 0, 1));
    EXPECT_EQ(client.service->route(id)->pkey, blue);
    const auto child = server.expect(EventKind::connect_request).id;
    EXPECT_EQ(index(client, id), 2);
    EXPECT_EQ(index(server, child), 1);
}

TEST_F(IpPartition, WhoListensAtAnyAddressListensInAll) {
    listen(any4(service_port));
    connect(ipv4(10, 8, 0, 2, service_port));
    EXPECT_EQ(index(server, server.expect(EventKind::connect_request).id), 1);
    connect(ipv4(10, 0, 0, 2, service_port), 0x112);
    EXPECT_EQ(index(server, server.expect(EventKind::connect_request).id), 0);
}

TEST_F(IpPartition, NobodyIsThereAtAnAddressInAnotherPartition) {
    listen(any4(service_port));
    server.port().change().addresses.back().pkey = red;
    server.port().change().pkeys.push_back(red);
    const auto id = connect(ipv4(10, 8, 0, 2, service_port));
    EXPECT_EQ(client.expect(EventKind::rejected).id, id);
    EXPECT_TRUE(server.quiet());
}

TEST_F(IpPartition, WithoutThePKeyTheAddressCannotBeUsed) {
    client.port().change().pkeys = {everywhere};
    const auto id = create(client, PortSpace::tcp);
    EXPECT_EQ(client.service->bind(id, ipv4(10, 8, 0, 1), network.now).error().code, ENODEV);
}

TEST_F(IpPartition, GroupsAreOfThatPartitionsBroadcastGroup) {
    const auto id = create(client, PortSpace::udp);
    ASSERT_TRUE(client.service->bind(id, ipv4(10, 8, 0, 1), network.now));
    ASSERT_TRUE(client.service->join(id, 33, ipv4(239, 1, 2, 3), false, network.now));
    auto mgid = wire::ipoib_multicast_mgid(wire::ipv4(239, 1, 2, 3), blue);
    mgid.bytes[3] = std::byte{1};  // RDMA CM's own groups (annex A11)
    EXPECT_EQ(client.port().requests.at(0).mgid, mgid);
    EXPECT_EQ(client.port().requests.at(0).pkey, blue);
}

TEST_F(Partition, GroupsAreOfTheIds) {
    client.port().change().pkeys = {everywhere, limited_blue};
    const auto id = create(client, PortSpace::udp);
    const auto own = client.port().facts().port_gid;
    ASSERT_TRUE(client.service->bind(id, ib(own, blue, PortSpace::udp), network.now));
    const auto group = ib(gid4(239, 1, 2, 3), blue, PortSpace::udp);
    ASSERT_TRUE(client.service->join(id, 33, group, false, network.now));
    EXPECT_EQ(client.port().requests.at(0).pkey, blue) << "groups have the full members' P_Key";
}

}  // namespace
}  // namespace verbline::rdmacm
